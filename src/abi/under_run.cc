#include "abi/under_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/file/file.h"

namespace opdump::abi {
namespace {

// The value of a variable; null if it is not set or empty.
const char* variable(const char* name) {
  const char* const value = std::getenv(name);
  return value && *value ? value : nullptr;
}

// Adds to the file of `opdump run`, if there is one: nobody reads it once that has ended.
void append(std::string_view suffix, std::string_view text) {
  const char* const report = variable("OPDUMP_RUN_REPORT");
  if (!report) return;
  const Fd file(::open((std::string(report) += suffix).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (file && ::write(file.get(), text.data(), text.size()) < 0) return;
}

}  // namespace

bool take_from_run(opdump_options& options) {
  options.config_path = variable("OPDUMP_CONFIG");
  if (!options.config_path) return false;
  if (!options.mode) options.mode = variable("OPDUMP_MODE");
  if (!options.dialect) options.dialect = variable("OPDUMP_DIALECT");
  if (const char* const strict = variable("OPDUMP_STRICT"); strict && std::string_view(strict) != "0")
    options.strict = 1;
  options.is_launched = 1;
  return true;
}

void tell_run(char mark) { append("", std::string_view(&mark, 1)); }

void tell_run(LogLevel level, std::string_view line) {
  std::string text = level == LogLevel::warning ? "opdump: warning: " : "opdump: ";
  append(".messages", text.append(line).append("\n"));
}

}  // namespace opdump::abi
