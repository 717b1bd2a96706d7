// Dropouts by other operators in each run: native_dropout, where the other one has bernoulli_ and div_.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "compare/operator_pair.h"
#include "dump/read/runs.h"

namespace opdump::compare {

// Of two operators, each of a dropout or of its backward pass: "dropout p is 0.1 in golden and 0.2 in
// actual". Nothing if p is the same, or not known of both.
std::optional<std::string> find_dropout_difference(const dump::OperatorRun& golden,
                                                   const dump::OperatorRun& actual);

struct OtherDropout {
  std::size_t place = 0;  // in the pairs, of actual's operator
  std::string text;
};

// The first dropout of a module with another p, where the runs have other operators for it.
std::optional<OtherDropout> find_other_dropout(const dump::Runs& golden, const dump::Runs& actual,
                                               std::span<const OperatorPair> pairs);

}  // namespace opdump::compare
