// A directory of dump files as msaccucmp sees it: which file belongs to which operator, and of what kind of
// run they are (cann.md 4.4). Nothing is read but names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "msaccucmp/log.h"
#include "msaccucmp/read/operator_files.h"

namespace opdump::msaccucmp {

enum class DumpKind : std::uint8_t {
  npu,        // {op_type}.{op}.{task}.{stream}.{time}: executed on the accelerator
  original,   // {op}.{output}.{time}.npy or .pb: the original model
  quantised,  // {op}.{output}.{time}.quant, or .npy of a quantised model
};

class DumpFolder {
 public:
  // Reads the names in `path`. With `in_slices` ("-ffts") files of slices keep their own names. Failures:
  // dump_file -- no dump file, or of several kinds; task_type; open_file.
  static Outcome<DumpFolder> scan(const std::string& path, bool in_slices, bool has_rules, Log& log);

  const std::string& path() const { return path_; }
  DumpKind kind() const { return kind_; }
  bool is_quantised() const { return is_quantised_; }  // by the names of the operators
  bool holds_npy() const { return holds_npy_; }        // under any name

  const FilesByOperator& files() const { return files_; }

  // The files of `op`, or of one output of it where files hold one output. Failure: no_dump_file.
  Outcome<OperatorFiles> find(std::string_view op, std::optional<std::int64_t> output) const;

  // "['a', 'b']".
  static std::string list_of(const std::vector<std::string>& paths);
  // "Offline", "Standard", "Quant": the original's words.
  std::string_view kind_word() const;
  // "side is dump data of the unquantized model executed on the AI processor".
  std::string description() const;

 private:
  class Scanner;

  std::string path_;
  DumpKind kind_ = DumpKind::npu;
  bool is_quantised_ = false, holds_npy_ = false;
  FilesByOperator files_;
};

// Warns if the file has more than 100 MiB, as the original does of lists and rules.
void warn_of_size(const std::string& path, Log& log);

// The operator type in a dump file's name, or "NaN".
std::string op_type_of_file(std::string_view path);

}  // namespace opdump::msaccucmp
