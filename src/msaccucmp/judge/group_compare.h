// Compares the operators of one group with what they are in the other run: the heart of `msaccucmp compare`
// (cann.md 4.4-4.6). Groups are independent of each other and may be compared at once.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "msaccucmp/judge/algorithms.h"
#include "msaccucmp/judge/fusion_rules.h"
#include "msaccucmp/judge/layout_match.h"
#include "msaccucmp/judge/result_table.h"
#include "msaccucmp/log.h"
#include "msaccucmp/read/dump_folder.h"

namespace opdump::msaccucmp {

// Two dumps and how they are compared. The objects live as long as this.
struct GroupComparison {
  const DumpFolder& mine;
  const DumpFolder& golden;
  const FusionRules& rules;
  const AlgorithmSet& algorithms;
  TableColumns columns;
  LayoutPlugin plugin;
  std::uint64_t max_elements = 0;  // of a tensor; 0: all
  unsigned threads = 1;            // for one tensor
};

// What came of a group, in the order in which it happened.
struct GroupResult {
  Status status = Status::ok;   // the last failure of an operator as a whole
  bool is_matched = false;      // a dump file was found
  std::vector<PackedRow> rows;  // row[0] is the number of the group
  Log log;
};

// `group` is one of comparison.rules.
GroupResult compare_group(const GroupComparison& comparison, std::uint32_t group);

// The result of a group that was not compared; `is_map`: by map_group().
GroupResult give_up_group(const GroupComparison& comparison, std::uint32_t group, bool is_map,
                          const std::string& why);

// -map: a row for each tensor with the files that hold it and its counterpart.
GroupResult map_group(const GroupComparison& comparison, std::uint32_t group);

// A tensor of the other run, and what is known of it.
struct GoldenTensor {
  OriginTensor origin;
  std::string path;
  DumpedTensor tensor;
};

// An output of an operator of mine.
struct OperatorOutput {
  RuleOp rule;
  std::size_t index = 0;
};

// Output `index` of `rule`, or what its input `index` is an output of: through Cast and TransData, which the
// original model does not have. Failures: those of the rules.
Outcome<OperatorOutput> find_source(const GroupComparison& comparison, const RuleOp& rule, std::size_t index,
                                    bool is_input, Log& log);

// The counterpart of what find_source() finds.
Outcome<OriginTensor> find_origin(const GroupComparison& comparison, const RuleOp& rule, std::size_t index,
                                  bool is_input, Log& log);
// What lies there. `op` is the operator of mine that is compared, for messages.
Outcome<GoldenTensor> read_golden(const GroupComparison& comparison, const std::string& op,
                                  OriginTensor origin, Log& log);

// The dump of `op` in `folder`; slices of it are put together. Failures: no_dump_file; those of the file.
Outcome<DumpedOperator> read_operator(const DumpFolder& folder, const std::string& op,
                                      std::optional<std::int64_t> output, Log& log);

// Operators with files in an L1 group, the oldest first.
struct TimedOperator {
  std::uint64_t time_us = 0;
  const RuleOp* rule = nullptr;  // of `group`
};
std::vector<TimedOperator> by_time(const GroupComparison& comparison, std::span<const RuleOp> group,
                                   Log& log);

// "[op] There is no dump file for my output operator ..."
std::string no_dump_message(const format::FusionOp& op);
std::string no_golden_message(const std::string& op, const std::string& tensor);

}  // namespace opdump::msaccucmp
