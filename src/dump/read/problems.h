// What in a dump could not be used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace opdump::dump {

// Something in the dump that could not be used.
struct Problem {
  std::filesystem::path path;
  std::string what;  // "header announces 4096 bytes, 100 in file"
};

// The problems lie in the order in which they were met. A dump may have millions of them: only the first are
// kept, and the last element counts the others.
class Problems {
 public:
  void push_back(Problem problem) {
    if (list_.size() < kKept) return list_.push_back(std::move(problem));
    ++more_;
    list_.resize(kKept + 1);
    list_.back() = {std::move(problem.path),
                    std::to_string(more_) + " more like these; of the last one: " + problem.what};
  }
  const std::vector<Problem>& list() const { return list_; }

  static constexpr std::size_t kKept = 1000;

 private:
  std::vector<Problem> list_;
  std::uint64_t more_ = 0;
};

}  // namespace opdump::dump
