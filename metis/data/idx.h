// IDX, the format of MNIST, Fashion-MNIST and EMNIST: one file of images, one of labels, each plain
// or gzipped (docs/datasets.md). A text file of writers, one name a line, may come along.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metis/core/result.h"
#include "metis/data/dataset.h"

namespace metis::data {

struct IdxOptions {
  std::string name = {};                      // default: the path of the images
  uint32_t classes = 0;                       // 0: one more than the largest label
  std::vector<std::string> class_names = {};  // empty, or one a class
  bool transposed = false;                    // rows are columns, as in EMNIST's own files
  std::string writers = {};                   // path of the writers' names; empty: unknown
};

// Examples in the order of the files. Memory: the images once, and one row of bytes more.
Result<Dataset> ReadIdx(const std::string& images, const std::string& labels,
                        const IdxOptions& options = {});

}  // namespace metis::data
