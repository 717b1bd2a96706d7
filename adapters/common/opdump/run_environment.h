// What an adapter and `opdump run` say to each other by environment variables. Shared by the adapters.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "opdump/opdump.h"

namespace opdump {

// The value of the first variable that is set and not empty, or null.
inline const char* find_variable(std::initializer_list<const char*> names) {
  for (const char* const name : names)
    if (const char* const value = std::getenv(name); value && *value) return value;
  return nullptr;
}

// Sets the options that the caller left open from what `opdump run`, launchers and users have set.
inline void fill_from_environment(opdump_options& options) {
  if (!options.config_path) {
    options.config_path = find_variable({"OPDUMP_CONFIG"});
    if (!options.config_path) {  // the original's own variable: it adds to an existing dump
      options.config_path = find_variable({"MINDSPORE_DUMP_CONFIG"});
      if (options.existing == OPDUMP_EXISTING_DEFAULT) options.existing = OPDUMP_EXISTING_ORIGINAL;
    }
  }
  if (!options.mode) options.mode = find_variable({"OPDUMP_MODE"});
  if (!options.dialect) options.dialect = find_variable({"OPDUMP_DIALECT"});
  if (const char* const strict = find_variable({"OPDUMP_STRICT"}); strict && std::string_view(strict) != "0")
    options.strict = 1;
  options.is_launched = 1;
}

// The recording becomes golden data: what views return is wanted, too, because another run's dump may be
// compared with it.
inline bool makes_golden_data() { return find_variable({"OPDUMP_GOLDEN"}) != nullptr; }

// `opdump run` reads from a file whether a recording began ('+'), was closed ('-') or could not begin ('!').
inline void report_to_run(char mark) {
  const char* const path = find_variable({"OPDUMP_RUN_REPORT"});
  if (!path) return;
  if (std::FILE* const file = std::fopen(path, "ae")) {
    std::fputc(mark, file);
    std::fclose(file);
  }
}

}  // namespace opdump
