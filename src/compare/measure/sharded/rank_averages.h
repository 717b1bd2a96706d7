// What each of several ranks has left of terms that cancel, where both runs have several ranks. An optimizer
// reads the mean over ranks, or a part of it, as fully_shard cuts it: no operator gives that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compare/comparison.h"

namespace opdump::compare {

class RankAverages {
 public:
  static constexpr std::size_t kMostElements = 1 << 24;  // that are kept
  static constexpr double kLargerError = 16;             // times as large: the same rounding still

  struct Tensor {
    model::Shape shape;
    std::vector<double> elements;  // row-major
    double error = 0;              // the greatest difference between the runs
  };

  // `op` names the output of an operator that ranks have together.
  void add(const std::string& op, std::uint32_t rank, Tensor tensor);

  bool is_empty() const { return outputs_.empty(); }

  // Whether a tensor of this rank is what all of an output are on average over the rank and others, or in
  // sum, or a part of that along the first axis, and is off by no more than kLargerError times as much.
  bool contain(std::uint32_t rank, const Tensor& tensor) const;

 private:
  using OfRanks = std::map<std::uint32_t, Tensor>;
  static bool is_average(const OfRanks& of_ranks, std::uint32_t rank, const Tensor& tensor);

  std::map<std::string, OfRanks> outputs_;
  std::size_t kept_ = 0;  // elements
};

}  // namespace opdump::compare
