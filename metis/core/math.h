// exp, log and pow that give the same bits on every platform: only IEEE additions, multiplications
// and divisions, in a fixed order. The C library's differ between versions and CPUs, and a
// simulation must not. Accurate to a few units in the last place, which is all that training and
// random draws need.
#pragma once

namespace metis {

// e^x; 0 below -745, +infinity above 709.78; NaN for NaN.
double PortableExp(double x);

// The natural logarithm; -infinity for 0, NaN for negative numbers and NaN.
double PortableLog(double x);

// x^y for x >= 0 (0^y is 0, for y > 0). Its error grows with |y log x|: about that many units in
// the last place.
double PortablePow(double x, double y);

}  // namespace metis
