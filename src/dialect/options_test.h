// Options for tests: an environment that is given and not the process's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "dialect/options.h"

namespace opdump::dialect {

using Variables = std::map<std::string, std::string>;

inline DialectOptions make_options(bool strict, Mode mode = Mode::automatic, Variables variables = {}) {
  DialectOptions options;
  options.strict = strict;
  options.mode = mode;
  options.environment = [variables = std::move(variables)](std::string_view name) {
    const auto found = variables.find(std::string(name));
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  return options;
}

}  // namespace opdump::dialect
