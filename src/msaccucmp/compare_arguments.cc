// What the original's compare takes, and how it says so.
#include "msaccucmp/argparse.h"
#include "msaccucmp/compare.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

namespace opdump::msaccucmp {
namespace {

using Kind = ArgumentSpec::Kind;

constexpr std::string_view kUsage = R"(usage: msaccucmp.py compare [-h] -m MY_DUMP_PATH -g GOLDEN_DUMP_PATH
                            [-f FUSION_RULE_FILE] [-q QUANT_FUSION_RULE_FILE]
                            [-cf CLOSE_FUSION_RULE_FILE] [-out OUTPUT_PATH]
                            [-c CUSTOM_SCRIPT_PATH] [-a ALGORITHM_OPTIONS]
                            [-alg ALGORITHM] [-map] [-overflow_detection]
                            [-r RANGE] [-s SELECT] [-p {0,1}]
                            [-max MAX_CMP_SIZE] [-advisor] [-v {1,2}]
                            [-op OP_NAME] [-o OUTPUT | -i INPUT]
                            [--ignore_single_op_result] [-n TOPN]
                            [-ml MAX_LINE] [-ffts]
)";

constexpr std::string_view kHelp = R"help(
[Powered by MindStudio]

options:
  -h, --help            show this help message and exit
  -m MY_DUMP_PATH, --my_dump_path MY_DUMP_PATH
                        <Required> my dump path, the data compared with golden
                        data
  -g GOLDEN_DUMP_PATH, --golden_dump_path GOLDEN_DUMP_PATH
                        <Required> the golden dump path
  -f FUSION_RULE_FILE, --fusion_rule_file FUSION_RULE_FILE
                        <Optional> the fusion rule file path
  -q QUANT_FUSION_RULE_FILE, --quant_fusion_rule_file QUANT_FUSION_RULE_FILE
                        <Optional> the quant fusion rule file path
  -cf CLOSE_FUSION_RULE_FILE, --close_fusion_rule_file CLOSE_FUSION_RULE_FILE
                        <Optional> the rule file path without fusion
  -out OUTPUT_PATH, --output OUTPUT_PATH
                        <Optional> the output path
  -c CUSTOM_SCRIPT_PATH, --custom_script_path CUSTOM_SCRIPT_PATH
                        <Optional> the user-defined script path, including
                        format conversion and algorithm
  -a ALGORITHM_OPTIONS, --algorithm_options ALGORITHM_OPTIONS
                        <Optional> the arguments for each algorithm. The
                        format is "algorithm_name:param_name=param_value". The
                        parameter splits by ",". The algorithm splits by ";".
                        Such as "CosineSimilarity:max=1,min=0;aa:max=1,min=0"
  -alg ALGORITHM, --algorithm ALGORITHM
                        <Optional> the algorithm selection, built-in algorithm
                        where 0=CosineSimilarity, 1=MaxAbsoluteError,
                        2=AccumulatedRelativeError,
                        3=RelativeEuclideanDistance,
                        4=KullbackLeiblerDivergence, 5=StandardDeviation,
                        6=MeanAbsoluteError, 7=RootMeanSquareError,
                        8=MaxRelativeError, 9=MeanRelativeError, The custom
                        algorithm uses the algorithm name. The selection
                        splits by ",", such as
                        "0,MaxAbsoluteError,4,CustomAlg" or "all". The default
                        value is "all"
  -map, --mapping       <Optional> create mappings between my output operators
                        and ground truth one
  -overflow_detection   <Optional> Operator overflow detection, only operators
                        of the fp16 type are supported
  -r RANGE, --range RANGE
                        <Optional> compare network with the range. The format
                        is "start,end,step". `start` means the count starts
                        position, limited to [1, op_count], default 1.`end`
                        means the count ends position, limited to [>=start,
                        op_count] or -1, default -1`step` limited to [1,
                        op_count], default 1. -r command and -s command can
                        not be used at the same time
  -s SELECT, --select SELECT
                        <Optional> compare network with the range. The format
                        is "index_1, index_2,..." Every index should bea
                        number in the fusion operator list -r command and -s
                        command can not be used at the same time
  -p {0,1}, --post_process {0,1}
                        <Optional> whether to extract the compare result, only
                        pytorch is supported.0 indicates the comparison result
                        is not extracted, 1 indicates the comparison result is
                        extracted
  -max MAX_CMP_SIZE, --max_cmp_size MAX_CMP_SIZE
                        <Optional> max size of tensor array to compare
  -advisor              <optional> Enable advisor after compare
  -v {1,2}, --version {1,2}
                        <Optional> the version of the dump file, 1 means the
                        protobuf dump file, 2 means the binary dump file, the
                        default value is 2
  -op OP_NAME, --op_name OP_NAME
                        <Optional> operator name
  -o OUTPUT, --output_tensor OUTPUT
                        <Optional> the index of output, takes effect only when
                        the "-op" exists
  -i INPUT, --input_tensor INPUT
                        <Optional> the index for input, takes effect only when
                        the "-op" exists
  --ignore_single_op_result
                        <Optional> ignore the single operator detail result,
                        takes effect only when the "-op" exists
  -n TOPN, --topn TOPN  <Optional> the TopN for the single operator detail
                        result, takes effect only when the "-op" exists. The
                        value ranges from 1 to 10000. The default value is 20
  -ml MAX_LINE, --max_line MAX_LINE
                        <Optional> the max line count for the single operator
                        detail result, takes effect only when the "-op"
                        exists. The default value is 1000000, and it should
                        range from 10000 to 1000000
  -ffts                 <optional> Enable the comparison between ffts+ and
                        ffts+. Direct comparison is performed without data
                        combination
)help";

constexpr std::string_view kMainUsage =
    "usage: msaccucmp.py [-h] {compare,convert,overflow,file_compare} ...\n";

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

// "-alg 1 2": two numbers or more, as words of their own.
bool has_number_list(std::span<const char* const> words) {
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    const std::string_view word = words[i], second = words[i + 2];
    if ((word == "-alg" || word == "--algorithm") && second.size() == 1 && second[0] >= '0' &&
        second[0] <= '9')
      return true;
  }
  return false;
}

std::optional<std::string> given(const ParsedArguments& parsed, std::string_view name) {
  if (!parsed.has(name)) return std::nullopt;
  return parsed.value(name);
}

CompareArguments to_arguments(const ParsedArguments& parsed) {
  CompareArguments arguments;
  arguments.mine = parsed.value("-m");
  arguments.golden = parsed.value("-g");
  arguments.fusion = parsed.value("-f");
  arguments.quant_fusion = parsed.value("-q");
  arguments.no_fusion = parsed.value("-cf");
  arguments.output = parsed.value("-out");
  arguments.custom = parsed.value("-c");
  arguments.algorithm_options = parsed.value("-a");
  if (parsed.has("-alg")) arguments.algorithms = compare::join(parsed.values.at("-alg"), ",");
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
  arguments.tells_top_count = parsed.has("-n");
  arguments.top_count = parsed.number("-n").value_or(arguments.top_count);
  arguments.max_lines = parsed.number("-ml");
  return arguments;
}

}  // namespace

std::string_view compare_usage() { return kUsage; }
std::string_view compare_help() { return kHelp; }

Result<std::optional<CompareArguments>> parse_compare_arguments(std::span<const char* const> words) {
  auto parsed = parse_arguments(specs(has_number_list(words)), words);
  if (!parsed)
    return Error(Code::usage,
                 std::string(kUsage) + "msaccucmp.py compare: error: " + parsed.error().message());
  if (parsed->wants_help) return std::optional<CompareArguments>();
  if (!parsed->unrecognized.empty())
    return Error(Code::usage, std::string(kMainUsage) + "msaccucmp.py: error: unrecognized arguments: " +
                                  compare::join(parsed->unrecognized, " "));
  return std::optional(to_arguments(*parsed));
}

}  // namespace opdump::msaccucmp
