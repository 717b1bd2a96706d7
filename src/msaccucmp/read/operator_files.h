// Which dump files belong to which operator. There may be millions of either, so names are put aside
// (base/spill.h) in the order of a hash of the operator: one is found by a single look at where its hash must
// be, and what two dumps have in common by going through both side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/record_sorter.h"
#include "base/result.h"
#include "base/scratch_vector.h"
#include "base/spill.h"

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
  // Where the files of an operator are kept.
  struct Span {
    std::uint64_t at = 0, bytes = 0;
    bool is_none() const { return bytes == 0; }
  };
  class Reader;

  FilesByOperator() = default;
  explicit FilesByOperator(std::string directory) : directory_(std::move(directory)) {}

  // Files come in the order of their names. An operator is executed as its last file says.
  void add(const File& file);
  // To be called when all are there, once and before all that follows. Errors: io.
  Result<> finish();

  // Of the operator that has the first file of all.
  const std::string& first_path() const { return first_path_; }
  // Errors: io.
  Result<std::optional<OperatorFiles>> find(std::string_view key) const;
  Result<OperatorFiles> at(Span place) const;

 private:
  struct Record {
    std::string_view key, names;   // the names packed
    std::uint64_t first_file = 0;  // by number
    std::uint64_t time_us = 0;
    TaskMode mode = TaskMode::normal;
  };
  class Grouper;
  static Record unpack(std::string_view bytes);
  OperatorFiles files_of(const Record& entry) const;
  Result<std::string> read(Span place) const;
  std::size_t bucket_of(std::uint64_t hash) const;
  Span bucket(std::size_t number) const;
  Result<> begin_bucket(std::size_t number);

  std::string directory_, first_path_;
  RecordSorter added_;
  Spill kept_;  // entries, each after its size, in the order of hashes
  ScratchVector<std::uint64_t>
      buckets_;  // where in kept_ those of each part of all hashes begin; and the end
  std::size_t bucket_count_ = 0;
  std::string record_;  // kept for its memory
};

// Goes through all operators, in an order that is the same for all dumps.
class FilesByOperator::Reader {
 public:
  explicit Reader(const FilesByOperator& files) : files_(&files) {}
  // Goes on to the first or the next operator; false behind the last one. Errors: io.
  Result<bool> next();

  // What the order is by.
  std::pair<std::uint64_t, std::string_view> order() const { return {hash_, entry_.key}; }
  Span span() const { return place_; }
  std::uint64_t time_us() const { return entry_.time_us; }
  std::uint64_t first_file() const { return entry_.first_file; }  // by the number with which it was added
  OperatorFiles files() const { return files_->files_of(entry_); }

 private:
  const FilesByOperator* files_;
  std::size_t next_bucket_ = 0, next_entry_ = 0;  // by number; in bytes_
  Span bucket_;                                   // the last one
  std::string bytes_;                             // that it has
  Span place_;
  Record entry_;
  std::uint64_t hash_ = 0;
};

}  // namespace opdump::msaccucmp
