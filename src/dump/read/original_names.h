// What files were called before their names were too long: mapping.csv tells it, and may do so of millions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/record_sorter.h"
#include "base/result.h"

namespace opdump::dump {

// Stays where it is after the first find().
class OriginalNames {
 public:
  // Not after find(). Of what is told of the same name the last counts.
  void add(std::string_view name, std::string_view original);

  // What was told of `name`. Names are asked for in their order, and each once. Errors: io.
  Result<std::optional<std::string>> find(std::string_view name);

 private:
  Result<> advance();

  RecordSorter told_;
  std::optional<RecordSorter::Reader> sorted_;  // of told_
  bool has_next_ = false;
  std::string name_, original_;  // that come next
  std::string record_;           // kept for its memory
};

}  // namespace opdump::dump
