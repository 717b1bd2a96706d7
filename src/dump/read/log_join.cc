#include "dump/read/log_join.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "dump/file_name.h"

namespace opdump::dump {

void join_log(Runs& runs, std::uint32_t rank, LogIndex& log) {
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (runs.section_of(i).rank == rank) runs.set_operator(i, log.find(runs.without_slots(i)));

  struct Step {
    Runs::Section recorded;                // the first section of it
    std::optional<std::uint32_t> added{};  // the section of what is absent from it
  };
  std::map<std::pair<std::int64_t, std::int64_t>, Step> steps;  // by graph, or any, and step
  for (std::uint32_t i = 0; i < runs.section_count(); ++i) {
    const Runs::Section& section = runs.section(i);
    if (section.rank != rank) continue;
    for (const std::int64_t graph_id : {section.graph_id, model::kAnyGraph})
      steps.try_emplace({graph_id, section.step}, Step{section});
  }
  for (const LogIndex::Absent& absent : log.absent()) {
    const LoggedOperator op = runs.operator_of(absent.op);
    const auto step = steps.find({op.graph_id, absent.step});
    if (step == steps.end()) continue;
    if (!step->second.added) step->second.added = runs.add_section(step->second.recorded);
    OperatorRun run;
    run.type = file_type(op);
    run.name = file_op_name(op);
    runs.add(*step->second.added, run, {});
    runs.set_operator(runs.size() - 1, absent.op);
  }
}

}  // namespace opdump::dump
