// Small things for whoever uses OpenSSL, or another library of C.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace metis::rpc {

// std::unique_ptr<X509, Freed<X509_free>>.
template <auto free>
struct Freed {
  template <typename T>
  void operator()(T* pointer) const {
    free(pointer);
  }
};

// Two lower-case digits a byte.
inline std::string Hexadecimal(std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

}  // namespace metis::rpc
