// Command lines as Python's argparse reads them, for programs that must take what the original took: "-out"
// is one option, "-mPATH" and "--my_dump=PATH" are `-m PATH`, an option may be shortened as long as it stays
// unique.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace opdump::msaccucmp {

inline constexpr int kWrongUse = 2;  // the exit status

struct ArgumentSpec {
  enum class Kind : std::uint8_t { text, path, integer, flag };
  std::string_view name;       // as it is shown first; also the key of the values
  std::string_view long_name;  // "" for none
  Kind kind = Kind::text;      // a path holds [_A-Za-z0-9/.,-] only
  bool is_required = false;
  std::span<const int> choices;  // of an integer; empty for any
  int exclusive_group = 0;       // of options that have the same number, but 0, one may be given
  bool takes_many = false;       // one value or more
  std::span<const std::string_view> words = {};  // of a text; empty for any
  bool is_ours = false;                          // the original has no such option: not to be cut short
};

struct ParsedArguments {
  std::map<std::string_view, std::vector<std::string>> values;  // by ArgumentSpec::name; {} for a flag
  std::vector<std::string> unrecognized;                        // what argparse would complain of last
  bool wants_help = false;                                      // -h came before any mistake

  bool has(std::string_view name) const { return values.contains(name); }
  // The last value given, or `otherwise`.
  std::string value(std::string_view name, std::string_view otherwise = "") const;
  // Returns an integer; the nearest one if it has more than 64 bits.
  std::optional<std::int64_t> number(std::string_view name) const;
};

// Errors: usage -- what argparse says after "error: ".
Result<ParsedArguments> parse_arguments(std::span<const ArgumentSpec> specs,
                                        std::span<const char* const> words);

// How many words come before the first one that is no option.
std::size_t count_leading_options(std::span<const char* const> words);

}  // namespace opdump::msaccucmp
