// How operators and slots are called in messages and reports.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "compare/comparison.h"
#include "dump/read/runs.h"

namespace opdump::compare {

// The full name, "Default/conv2-Conv2d/convolution-op0"; the sanitised one where the dump knows no other.
// Calls of CANN's single-operator API have their number in the type alone: "aclnnAdd_3_L2".
const std::string& operator_name(const dump::OperatorRun& run);

// The name in the model's file: of several operators that an engine made one of, that of the last.
const std::string& name_in_file(const dump::OperatorRun& run);

// The modules that it is in, outermost first: "Default/conv2-Conv2d", "layer1/0/conv1"; empty if it is in
// none.
std::string module_of(const dump::OperatorRun& run);

// Whether the program runs it in no module.
bool is_outside_modules(const dump::OperatorRun& run);

// Returns the phase of its module's pass; forward where the dump does not say.
model::Phase phase_of(const dump::OperatorRun& run);
// Whether a run has a backward pass.
bool trains(const dump::Runs& runs);

// "output.0"; "input.self" where the dump knows what operands are called
std::string slot_name(const dump::Slot& slot);
std::string slot_name(const SlotComparison& slot);

// Whether it ran in a data-loading process, "Default/worker0/...": these prepare batches ahead of the
// program, and how many of them that nobody takes is a matter of time.
bool runs_ahead(const dump::OperatorRun& run);

// `name` with "\n" for a line feed, so that no name looks like a line of its own.
std::string one_line(std::string name);

// "0-3,7".
std::string format_ranges(const std::set<std::int64_t>& numbers);

// The type of an execution and where the program calls it: "add at train.py:35", or "add" if the recording
// does not say.
std::string describe_call(const dump::Runs& runs, std::uint32_t execution);

}  // namespace opdump::compare
