// What two dumps are compared with: both folders, the rules that join them, the algorithms. Internal to the
// verb.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "msaccucmp/judge/group_compare.h"
#include "msaccucmp/log.h"
#include "msaccucmp/plugins/algorithm_plugin.h"
#include "msaccucmp/read/dump_folder.h"
#include "msaccucmp/verbs/compare.h"

namespace opdump::msaccucmp {

struct CompareSetup {
  ComparisonArguments arguments;
  std::string output;  // a directory, which is there
  Plugins plugins;
  AlgorithmSet algorithms;
  std::optional<SequenceChoice> choice;
  DumpFolder mine, golden;
  FusionRules rules;
  bool has_rules = false;  // false: two runs on the accelerator, joined by the names of their files

  // Whether the tables have a column for the operator's number: -r or -s is given, be it empty.
  bool has_sequence() const;

  // How a pair is compared; `tasks` are the pieces of work that are done at once.
  GroupComparison comparison(std::size_t tasks) const;
};

// Does all that comes before comparing, in the original's order, and says what is wrong. Failures: all that
// arguments, paths, folders and rules can cause.
Outcome<std::unique_ptr<CompareSetup>> prepare_comparison(const ComparisonArguments& arguments, Log& log);

// Says why a file of rules cannot be used: what is missing is a warning, what is wrong an error.
Failure report_bad_rules(const Error& error, Log& log);

// -op: one tensor, element by element, as files in the output directory.
Status compare_single_operator(const CompareSetup& setup, Log& log);

}  // namespace opdump::msaccucmp
