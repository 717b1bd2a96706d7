// The algorithms that a comparison in the manner of msaccucmp applies to a pair of tensors: the ten built-in
// ones and those of the user, in the order in which they were asked for (cann.md 4.3, 4.7).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "msaccucmp/judge/accuracy.h"
#include "msaccucmp/log.h"
#include "msaccucmp/read/dumped_tensor.h"

namespace opdump::msaccucmp {

// What a pair of tensors is, for messages and for the algorithms of the user.
struct PairFacts {
  std::string my_path, golden_path;
  bool is_scalar = false;
};

struct AlgorithmAnswer {
  std::string value, message;
};

// An algorithm of the user: gets rows of as many elements. Failure: its message goes into the table.
using CustomAlgorithm = std::function<Outcome<AlgorithmAnswer>(
    const TensorData& mine, const TensorData& golden, const PairFacts& facts,
    const std::map<std::string, std::string>& options)>;

struct AlgorithmRequest {
  std::string selection = "all";                  // "0,MaxAbsoluteError,4,Custom"
  std::string options;                            // "Algorithm:name=value,name=value;Algorithm2:..."
  std::map<std::string, CustomAlgorithm> custom;  // by name; an empty one is known but of no use
};

struct AlgorithmResults {
  std::vector<std::string> values;    // as AlgorithmSet::names; "NaN": failed
  std::vector<std::string> messages;  // in the same order, where there are any
};

class AlgorithmSet {
 public:
  // "all" are the built-in ones; one of the user's with the name of such one takes its place. Failures:
  // algorithm -- none of them exists; invalid_parameter -- the options.
  static Outcome<AlgorithmSet> select(const AlgorithmRequest& request, Log& log);

  const std::vector<std::string>& names() const { return names_; }
  std::vector<std::string> failed_values() const { return std::vector<std::string>(names_.size(), "NaN"); }

  // Compares the first `max_elements` elements; 0: all. Failure: invalid_dump -- the counts differ.
  Outcome<AlgorithmResults> measure(const TensorData& mine, const TensorData& golden, const PairFacts& facts,
                                    std::uint64_t max_elements, unsigned threads, Log& log) const;

 private:
  void add(std::string name);
  Outcome<std::monostate> parse_options(const std::string& text, Log& log);
  Outcome<std::monostate> resolve(const AlgorithmRequest& request, Log& log);

  std::vector<std::string> names_;
  std::vector<std::optional<Accuracy>> builtin_;  // as names_
  std::map<std::string, CustomAlgorithm> custom_;
  std::map<std::string, std::map<std::string, std::string>> options_;
};

}  // namespace opdump::msaccucmp
