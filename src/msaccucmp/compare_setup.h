// What two dumps are compared with: both folders, the rules that join them, the algorithms. Internal to the
// verb.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "compare/dump_folder.h"
#include "compare/group_compare.h"
#include "msaccucmp/compare.h"

namespace opdump::msaccucmp {

struct CompareSetup {
  CompareArguments arguments;
  std::string output;  // a directory, which is there
  Plugins plugins;
  compare::AlgorithmSet algorithms;
  std::optional<SequenceChoice> choice;
  compare::DumpFolder mine, golden;
  compare::FusionRules rules;
  bool has_rules = false;  // false: two runs on the accelerator, joined by the names of their files

  // Whether the tables have a column for the operator's number: -r or -s is given, be it empty.
  bool tells_sequence() const;

  // How a pair is compared; `tasks` are the pieces of work that are done at once.
  compare::GroupComparison comparison(std::size_t tasks) const;
};

// Does all that comes before comparing, in the original's order, and says what is wrong. Failures: all that
// arguments, paths, folders and rules can cause.
compare::Outcome<std::unique_ptr<CompareSetup>> prepare_comparison(const CompareArguments& arguments,
                                                                   compare::Journal& journal);

// Says why a file of rules cannot be used: what is missing is a warning, what is wrong an error.
compare::Failure tell_bad_rules(const Error& error, compare::Journal& journal);

// -op: one tensor, element by element, as files in the output directory.
compare::Status compare_single_operator(const CompareSetup& setup, compare::Journal& journal);

}  // namespace opdump::msaccucmp
