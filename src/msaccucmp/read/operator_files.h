// Which dump files belong to which operator. There may be millions of either: names lie one behind the other,
// and files are sorted by operator, so that one is found by a binary search.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/text_arena.h"

namespace opdump::msaccucmp {

// How an operator was executed: as a whole, or in slices by threads that the hardware or the compiler made.
enum class TaskMode : std::uint8_t { normal, automatic, manual };

struct OperatorFiles {
  std::string key;  // the operator with '_' for '/' and '.'; of the original model with ".{output}"
  std::vector<std::string> paths;  // the newest, or the last slice, is the last
  TaskMode mode = TaskMode::normal;
  std::uint64_t time_us = 0;  // of the last path; 0 if its name has none
};

class FilesByOperator {
 public:
  struct File {
    std::string_view key, name;
    TaskMode mode = TaskMode::normal;
    std::uint64_t slice = 0, time_us = 0;
  };
  // The files of an operator.
  struct Span {
    std::uint32_t begin = 0, end = 0;
    bool is_none() const { return begin == end; }
  };

  FilesByOperator() = default;
  explicit FilesByOperator(std::string directory) : directory_(std::move(directory)) {}

  // Files come in the order of their names. An operator is executed as its last file says.
  void add(const File& file);
  // To be called when all are there, once and before all that follows.
  void sort();

  // Of the operator that has the first file of all: its first one.
  std::string first_path() const;
  std::optional<OperatorFiles> find(std::string_view key) const;
  OperatorFiles at(Span files) const;

  // The operators by key: for (Span op = after({}); !op.is_none(); op = after(op)).
  Span after(Span op) const;
  std::string_view key(Span op) const { return key_of(files_[op.begin]); }
  std::uint64_t time_us(Span op) const { return files_[op.end - 1].time_us; }
  std::uint32_t first_file(Span op) const;  // by the number with which it was added

 private:
  struct Kept {
    ArenaText key = nullptr, name = nullptr;
    std::uint64_t slice = 0, time_us = 0;
    std::uint32_t number = 0;  // with which it was added
    TaskMode mode = TaskMode::normal;
  };
  static std::string_view key_of(const Kept& file) { return TextArena::view(file.key); }
  std::string path_of(const Kept& file) const;

  std::string directory_;
  TextArena texts_;
  std::vector<Kept> files_;
};

}  // namespace opdump::msaccucmp
