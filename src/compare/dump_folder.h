// A directory of dump files as msaccucmp sees it: which file belongs to which operator, and of what kind of
// run they are (cann.md 4.4). Nothing is read but names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_blocks.h"
#include "compare/failure.h"

namespace opdump::compare {

enum class DumpKind : std::uint8_t {
  npu,        // {op_type}.{op}.{task}.{stream}.{time}: executed on the accelerator
  original,   // {op}.{output}.{time}.npy or .pb: the original model
  quantised,  // {op}.{output}.{time}.quant, or .npy of a quantised model
};

// How an operator was executed: as a whole, or in slices by threads that the hardware or the compiler made.
enum class TaskMode : std::uint8_t { normal, automatic, manual };

struct OperatorFiles {
  std::string key;  // the operator with '_' for '/' and '.'; of the original model with ".{output}"
  std::vector<std::string> paths;  // the newest, or the last slice, is the last
  TaskMode mode = TaskMode::normal;
  std::uint64_t time_us = 0;  // of the last path; 0 if its name tells none
};

class DumpFolder {
 public:
  // Reads the names in `path`. With `in_slices` ("-ffts") files of slices keep their own names. Failures:
  // dump_file -- no dump file, or of several kinds; task_type; open_file.
  static Outcome<DumpFolder> scan(const std::string& path, bool in_slices, bool has_rules, Journal& journal);

  const std::string& path() const { return path_; }
  DumpKind kind() const { return kind_; }
  bool is_quantised() const { return is_quantised_; }  // by the names of the operators
  bool holds_npy() const { return holds_npy_; }        // under any name

  // The operators are numbered from 0 in the order of their first files' names. There can be a million of
  // them, so what a number stands for is put together when it is asked for.
  std::uint32_t size() const { return static_cast<std::uint32_t>(operators_.size()); }
  OperatorFiles files_of(std::uint32_t number) const;
  std::string_view key_of(std::uint32_t number) const;
  std::uint64_t time_of(std::uint32_t number) const;

  // The files of `op`, or of one output of it where files hold one output, if there are any.
  std::optional<OperatorFiles> find(std::string_view op, std::optional<std::int64_t> output) const;
  // The operator with that key.
  std::optional<std::uint32_t> find_key(std::string_view key) const;

  // "['a', 'b']".
  static std::string list_of(const std::vector<std::string>& paths);
  // "Offline", "Standard", "Quant": the original's words.
  std::string_view kind_word() const;
  // "side is dump data of the unquantized model executed on the AI processor".
  std::string description() const;

 private:
  class Scanner;
  struct File {
    std::uint32_t name = 0, op = 0;  // in texts_, in operators_
    std::uint64_t time_us = 0, slice = 0;
  };
  struct Operator {
    std::uint32_t key = 0, key_bytes = 0;  // a part of texts_
    std::uint32_t first_file = 0;
    TaskMode mode = TaskMode::normal;
  };
  std::span<const File> files_at(std::uint32_t number) const;
  // Where in slots_ the operator with that key is, or would be.
  std::size_t slot_of(std::string_view key) const;
  std::string_view key_of(const Operator& op) const { return texts_.part(op.key, op.key_bytes); }

  std::string path_;
  DumpKind kind_ = DumpKind::npu;
  bool is_quantised_ = false, holds_npy_ = false;
  TextBlocks texts_;
  std::vector<File> files_;  // by operator; within one by slice and time
  std::vector<Operator> operators_;
  std::vector<std::uint32_t> slots_;  // a hash table: the numbers of operators plus 1, 0 where there is none
};

// Warns if the file has more than 100 MiB, as the original does of lists and rules.
void warn_of_size(const std::string& path, Journal& journal);

// The operator type in a dump file's name, or "NaN".
std::string op_type_of_file(std::string_view path);

}  // namespace opdump::compare
