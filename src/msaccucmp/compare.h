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
#include "compare/algorithms.h"
#include "compare/failure.h"
#include "compare/fusion_rules.h"
#include "compare/layout_match.h"
#include "compare/result_table.h"
#include "compare/shared_work.h"
#include "msaccucmp/msaccucmp.h"

namespace opdump::msaccucmp {

struct CompareArguments {
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
  const compare::Share* share = nullptr;  // of the processes that mpirun has started; null if alone
};

// Whether this process says and writes what came of the comparison.
bool is_leader(const CompareArguments& arguments);

// Reads the words after "compare". Before it were words that nobody knows. Errors: usage -- what argparse
// prints, with the usage. Nothing: -h was asked.
Result<std::optional<CompareArguments>> parse_compare_arguments(std::span<const char* const> words,
                                                                std::vector<std::string> unrecognized);

// Runs it all; the status is the program's.
Result<int> run_compare(std::span<const char* const> words, std::vector<std::string> unrecognized);

// ---- shared by the parts of the verb ----

// What a journal holds as lines of the log, and empties it.
std::string take_text(compare::Journal& journal);
// Prints that.
void print_journal(compare::Journal& journal);

// The original's checks of a path that is read. Says what is wrong. `path` is shown as it is given.
compare::Status check_input_path(const std::string& path, PathKind kind, compare::Journal& journal);
// Creates the directory if there is none, and checks that it can be written to.
compare::Status check_output_directory(const std::string& path, compare::Journal& journal);
// real_path() as text.
std::string real_text(const std::string& path);
// "20261121113152": local time, for names of results.
std::string time_stamp();

// Operators chosen by "id" (-r, -s).
struct RangeChoice {
  std::int64_t start = 1, end = -1, step = 1;
};
using SequenceChoice = std::variant<RangeChoice, std::vector<std::int64_t>>;
compare::Outcome<SequenceChoice> parse_choice(const CompareArguments& arguments, compare::Journal& journal);
// Fits the choice to operators numbered up to `last`.
compare::Status check_choice(SequenceChoice& choice, std::int64_t last, compare::Journal& journal);
// The groups of the operators that are chosen, in the order of their numbers.
std::vector<std::uint32_t> chosen_groups(const SequenceChoice& choice, const compare::FusionRules& rules);

// What a user has added with -c.
struct Plugins {
  std::map<std::string, compare::CustomAlgorithm> algorithms;
  compare::LayoutPlugin layouts;
};
compare::Outcome<Plugins> find_plugins(const CompareArguments& arguments, bool with_layouts,
                                       compare::Journal& journal);

// Says what to look at first, and writes it to `folder`/advisor_summary.txt. `table` is the path of the rows.
void write_advice(const std::string& folder, const std::string& table, const compare::Row& header,
                  const compare::ResultRows& rows, const std::vector<std::string>& input_nodes,
                  compare::Journal& journal);

// The ways of comparing. Each says what it does and returns the status.
compare::Status compare_arrays(const CompareArguments& arguments);  // two .npy files
// Two dumps. Fails if they could not be compared at all; the value tells how it went.
compare::Outcome<compare::Status> compare_folders(const CompareArguments& arguments,
                                                  const std::string& file_prefix = "");
compare::Status compare_batch(const CompareArguments& arguments);  // -f is a directory
compare::Status compare_h5(const CompareArguments& arguments);     // two .h5 files

}  // namespace opdump::msaccucmp
