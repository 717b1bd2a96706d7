// `opdump msaccucmp compare`: options, checks and the ways in which two things can be compared
// (cann.md 4.3, 4.4).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "group/shared_work.h"
#include "msaccucmp/judge/algorithms.h"
#include "msaccucmp/judge/fusion_rules.h"
#include "msaccucmp/judge/layout_match.h"
#include "msaccucmp/judge/result_table.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {

inline constexpr unsigned kResultMode = 0600;  // of the files of results

struct ComparisonArguments {
  std::string mine, golden;                           // -m, -g
  std::string fusion, quant_fusion, no_fusion;        // -f, -q, -cf; "" if not given
  std::string output;                                 // -out
  std::string custom;                                 // -c
  std::string algorithms = "all", algorithm_options;  // -alg, -a
  bool maps = false, detects_overflow = false, advises = false, in_slices = false;
  std::optional<std::string> range, select;                  // -r, -s
  std::optional<std::int64_t> post_process;                  // -p
  std::int64_t max_elements = 0;                             // -max
  std::int64_t version = 2;                                  // -v
  std::optional<std::string> op, output_index, input_index;  // -op, -o, -i
  bool ignores_details = false;                              // --ignore_single_op_result
  std::int64_t top_count = 20;                               // -n
  std::optional<std::int64_t> max_lines;                     // -ml
  // Whether the last three are spelled as words of their own, not as "-n5" or "--top".
  bool spells_ignoring = false, spells_top_count = false, spells_max_lines = false;
  const group::Share* share = nullptr;  // of the processes that mpirun has started; null if alone
};

// Whether this process says and writes what came of the comparison.
bool is_leader(const ComparisonArguments& arguments);

// Reads the words after "compare". Before it were words that nobody knows. Errors: usage -- what argparse
// prints, with the usage. Nothing: -h was asked.
Result<std::optional<ComparisonArguments>> parse_compare_arguments(std::span<const char* const> words,
                                                                   std::vector<std::string> unrecognized);

// Runs it all; the status is the program's.
Result<int> run_compare(std::span<const char* const> words, std::vector<std::string> unrecognized);

// ---- shared by the parts of the verb ----

// Operators chosen by "id" (-r, -s).
struct RangeChoice {
  std::int64_t start = 1, end = -1, step = 1;
};
using SequenceChoice = std::variant<RangeChoice, std::vector<std::int64_t>>;
Outcome<SequenceChoice> parse_choice(const ComparisonArguments& arguments, Log& log);
// Fits the choice to operators numbered up to `last`.
Status check_choice(SequenceChoice& choice, std::int64_t last, Log& log);
// The groups of the operators that are chosen, in the order of their numbers.
std::vector<std::uint32_t> chosen_groups(const SequenceChoice& choice, const FusionRules& rules);

// Says what to look at first, and writes it to `folder`/advisor_summary.txt. `table` is the path of the rows.
void write_advice(const std::string& folder, const std::string& table, const Row& header,
                  const ResultRows& rows, const std::vector<std::string>& input_nodes, Log& log);

// The ways of comparing. Each says what it does and returns the status.
Status compare_arrays(const ComparisonArguments& arguments);  // two .npy files
// Two dumps. Fails if they could not be compared at all; the value is the status of the comparison.
Outcome<Status> compare_folders(const ComparisonArguments& arguments, const std::string& file_prefix = "");
Status compare_batch(const ComparisonArguments& arguments);  // -f is a directory
Status compare_h5(const ComparisonArguments& arguments);     // two .h5 files

}  // namespace opdump::msaccucmp
