// The binary files of CIFAR-10 and CIFAR-100 (docs/datasets.md): records of one or two label bytes
// and 3072 bytes of pixels, 32x32 in planes of red, green and blue. Plain or gzipped.
#pragma once

#include <string>
#include <vector>

#include "metis/core/result.h"
#include "metis/data/dataset.h"

namespace metis::data {

enum class CifarLabels {
  kTen,     // CIFAR-10: one label byte, 10 classes
  kFine,    // CIFAR-100: the second of two label bytes, 100 classes
  kCoarse,  // CIFAR-100: the first of two, 20 classes
};

// The records of `files`, one file after the other (data_batch_1.bin ... data_batch_5.bin are one
// data set). Both labels of a CIFAR-100 record are checked, whichever is used. Memory: the pixels
// once.
Result<Dataset> ReadCifar(const std::string& name, const std::vector<std::string>& files,
                          CifarLabels labels);

// Of each class, in the order of the labels.
const std::vector<std::string>& CifarClassNames(CifarLabels labels);

}  // namespace metis::data
