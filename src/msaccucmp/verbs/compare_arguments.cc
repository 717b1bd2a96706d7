// What the original's compare takes, and how it says so.
#include "msaccucmp/verbs/argparse.h"
#include "msaccucmp/verbs/compare.h"
#include "msaccucmp/verbs/help.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <string_view>

namespace opdump::msaccucmp {
namespace {

using Kind = ArgumentSpec::Kind;

constexpr std::array<int, 2> kVersions = {1, 2}, kSwitch = {0, 1};
constexpr std::array<int, 10> kAlgorithms = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

constexpr ArgumentSpec flag(std::string_view name, std::string_view long_name = "") {
  return {name, long_name, Kind::flag, false, {}, 0, false};
}
constexpr ArgumentSpec path(std::string_view name, std::string_view long_name, bool is_required = false) {
  return {name, long_name, Kind::path, is_required, {}, 0, false};
}
constexpr ArgumentSpec text(std::string_view name, std::string_view long_name, int group = 0) {
  return {name, long_name, Kind::text, false, {}, group, false};
}
constexpr ArgumentSpec integer(std::string_view name, std::string_view long_name,
                               std::span<const int> choices = {}, bool takes_many = false) {
  return {name, long_name, Kind::integer, false, choices, 0, takes_many};
}

const std::vector<ArgumentSpec>& specs(bool has_numbers) {
  const auto make = [](bool numbers) {
    return std::vector<ArgumentSpec>{
        path("-m", "--my_dump_path", true),
        path("-g", "--golden_dump_path", true),
        path("-f", "--fusion_rule_file"),
        path("-q", "--quant_fusion_rule_file"),
        path("-cf", "--close_fusion_rule_file"),
        path("-out", "--output"),
        path("-c", "--custom_script_path"),
        text("-a", "--algorithm_options"),
        numbers ? integer("-alg", "--algorithm", kAlgorithms, true) : path("-alg", "--algorithm"),
        flag("-map", "--mapping"),
        flag("-overflow_detection"),
        text("-r", "--range"),
        text("-s", "--select"),
        integer("-p", "--post_process", kSwitch),
        integer("-max", "--max_cmp_size"),
        flag("-advisor"),
        integer("-v", "--version", kVersions),
        text("-op", "--op_name"),
        text("-o", "--output_tensor", 1),
        text("-i", "--input_tensor", 1),
        flag("--ignore_single_op_result"),
        integer("-n", "--topn"),
        integer("-ml", "--max_line"),
        flag("-ffts")};
  };
  static const std::vector<ArgumentSpec> texts = make(false), numbers = make(true);
  return has_numbers ? numbers : texts;
}

// "-alg 1 2": two numbers or more, as words of their own. The original looks behind the first of each name.
bool has_number_list(std::span<const char* const> words) {
  return std::ranges::any_of(std::array<std::string_view, 2>{"-alg", "--algorithm"}, [&](auto name) {
    const auto found =
        std::ranges::find(words, name, [](const char* word) { return std::string_view(word); });
    if (words.end() - found < 3) return false;
    const std::string_view second = found[2];
    return second.size() == 1 && second[0] >= '0' && second[0] <= '9';
  });
}

std::optional<std::string> given(const ParsedArguments& parsed, std::string_view name) {
  if (!parsed.has(name)) return std::nullopt;
  return parsed.value(name);
}

// Whether one of the names is a word of its own: "-ml=1" and "--max" are not looked at by the original.
bool is_spelled(std::span<const char* const> words, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return std::ranges::find(names, word) != names.end(); });
}

ComparisonArguments to_arguments(const ParsedArguments& parsed, std::span<const char* const> words) {
  ComparisonArguments arguments;
  arguments.mine = parsed.value("-m");
  arguments.golden = parsed.value("-g");
  arguments.fusion = parsed.value("-f");
  arguments.quant_fusion = parsed.value("-q");
  arguments.no_fusion = parsed.value("-cf");
  arguments.output = parsed.value("-out");
  arguments.custom = parsed.value("-c");
  arguments.algorithm_options = parsed.value("-a");
  if (parsed.has("-alg")) arguments.algorithms = join(parsed.values.at("-alg"), ",");
  arguments.maps = parsed.has("-map");
  arguments.detects_overflow = parsed.has("-overflow_detection");
  arguments.advises = parsed.has("-advisor");
  arguments.in_slices = parsed.has("-ffts");
  arguments.range = given(parsed, "-r");
  arguments.select = given(parsed, "-s");
  arguments.post_process = parsed.number("-p");
  arguments.max_elements = parsed.number("-max").value_or(arguments.max_elements);
  arguments.version = parsed.number("-v").value_or(arguments.version);
  arguments.op = given(parsed, "-op");
  arguments.output_index = given(parsed, "-o");
  arguments.input_index = given(parsed, "-i");
  arguments.ignores_details = parsed.has("--ignore_single_op_result");
  arguments.spells_ignoring = is_spelled(words, {"--ignore_single_op_result"});
  arguments.spells_top_count = is_spelled(words, {"-n", "--topn"});
  arguments.spells_max_lines = is_spelled(words, {"-ml", "--max_line"});
  arguments.top_count = parsed.number("-n").value_or(arguments.top_count);
  arguments.max_lines = parsed.number("-ml");
  return arguments;
}

}  // namespace

Result<std::optional<ComparisonArguments>> parse_compare_arguments(std::span<const char* const> words,
                                                                   std::vector<std::string> unrecognized) {
  const bool has_numbers = has_number_list(words);
  auto parsed = parse_arguments(specs(has_numbers), words);
  if (!parsed)
    return Error(Code::usage, std::string(has_numbers ? kCompareNumbersUsage : kCompareUsage) +
                                  "msaccucmp.py compare: error: " + parsed.error().message());
  if (parsed->wants_help) return std::optional<ComparisonArguments>();
  std::ranges::move(parsed->unrecognized, std::back_inserter(unrecognized));
  if (!unrecognized.empty())
    return Error(Code::usage, std::string(kMsaccucmpUsage) +
                                  "msaccucmp.py: error: unrecognized arguments: " + join(unrecognized, " "));
  return std::optional(to_arguments(*parsed, words));
}

}  // namespace opdump::msaccucmp
