// Statistics, and what is declared of a validation set, as parts of messages. Confusion counts are
// a matrix and declared classes a list, as wire version 1 has always had them; every other kind is
// whole numbers by name, from what the kind says of itself (core/statistics.h). A message has
// fields for both and uses one of them. Whatever a peer sends is an error at worst.
#pragma once

#include "metis/core/result.h"
#include "metis/core/statistics.h"
#include "proto/metis/v1/federation.pb.h"

namespace metis::wire {

// `matrix()` and `named()` make the field that is used.
template <typename Matrix, typename Name>
void EncodeStatistics(const Statistics& statistics, const Matrix& matrix, const Name& named);
// `named` is null where it was left out. No classes and no name are nothing at all.
Result<Statistics> DecodeStatistics(const v1::Confusion& matrix, const v1::Named* named);

void EncodeDeclared(const Declared& declared, v1::Join* join);
Result<Declared> DecodeDeclared(const v1::Join& join);

namespace statistics_internal {
void Encode(const ConfusionCounts& counts, v1::Confusion* message);
void Encode(const Statistics& statistics, v1::Named* message);
}  // namespace statistics_internal

template <typename Matrix, typename Name>
void EncodeStatistics(const Statistics& statistics, const Matrix& matrix, const Name& named) {
  const ConfusionCounts& counts = statistics.AsConfusion();
  if (statistics.none() || counts.classes() > 0) {
    statistics_internal::Encode(counts, matrix());
  } else {
    statistics_internal::Encode(statistics, named());
  }
}

}  // namespace metis::wire
