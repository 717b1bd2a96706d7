// `opdump msaccucmp ...`: the original's verbs, options, names, messages and exit codes (cann.md 4).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/format.h"
#include "model/shape.h"

namespace opdump::cli {

// The original's exit codes, those that are used here.
enum class Status : int {
  ok = 0,
  no_dump_file = 2,
  invalid_path = 3,
  invalid_parameter = 6,
  invalid_dump = 11,
  out_of_bounds = 12,
  write_file = 19,
  invalid_dtype = 21,
  invalid_format = 22,
  invalid_shape = 23,
};

// "2026-11-21 11:35:47 (27446) - [INFO] text" on stderr.
enum class Severity : std::uint8_t { info, warning, error };
void log_line(Severity severity, std::string_view text);

enum class FileType : std::uint8_t { npy, bin, msnpy };

struct ConvertOptions {
  std::string dump_path, output = ".";
  std::optional<model::Format> format;
  std::optional<model::Shape> shape;
  FileType type = FileType::npy;
  struct Selection {
    bool is_input = false;
    std::size_t index = 0;
  };
  std::optional<Selection> only;
};

// Converts what options.dump_path names: a file, several by comma, or a directory.
Status convert_dumps(ConvertOptions options);

}  // namespace opdump::cli
