// A recording that is described by a few options rather than by a configuration: `opdump run -o` and
// opdump.record(). Both make the same configuration of them, a data_dump.json with "opdump_settings".
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace opdump::dialect {

// The name of the configuration beside the dump that it describes. Readers of dumps ignore the file.
inline constexpr std::string_view kConfigName = "opdump_config.json";

// Empty texts are the defaults.
struct Request {
  std::string output{};         // the folder; relative to the current directory
  std::string steps{};          // "0,10-20" or "all"; default: "0"
  std::string ops{}, module{};  // regular expressions, see opdump_settings.h; default: all operators
  std::string budget{};         // "20G"; default: "auto"
  bool tensors = false;         // default if neither is set
  bool statistics = false;
  bool fingerprints = false;  // instead of both
  unsigned watch = 0;         // instead of all: the last so many steps, see opdump_settings.h
};

// The configuration that says the same. Errors: config; the message begins with the name of the option.
Result<std::string> make_config(const Request& request);

// The text of a data_dump.json with `output` instead of its path. Errors: config.
Result<std::string> replace_output(std::string_view config_text, const std::string& output);

}  // namespace opdump::dialect
