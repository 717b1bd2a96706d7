// Properties of slots and operators for ls and show.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "dump/read/dump_set.h"

namespace opdump::cli {

using Json = nlohmann::ordered_json;

// Dtype and shape from the names and tables of the dump, else from the header of the file.
// Does not read elements.
struct SlotFacts {
  model::DType dtype = model::DType::undefined;
  std::optional<model::Shape> shape;
  std::string trouble;  // why the file cannot be read, or why there is no data; empty if readable
};
SlotFacts slot_facts(const dump::Slot& slot);

// SlotFacts::trouble of a tensor that cannot be read.
std::string unreadable(const Error& error);

// "float32 (8,1,28,28)", with remarks: ", statistics only", ", no data: view".
std::string describe(const dump::Slot& slot, const SlotFacts& facts);

// "convolution, forward, train.py:31"
std::string describe(const dump::OperatorRun& run);

// The operator's name, followed by describe() in brackets unless that is empty. If `width` is not 0 and they
// need more columns, the name is shortened in the middle.
std::string heading(const dump::OperatorRun& run, std::size_t width = 0);

// rank, graph, step, operator, type, phase, source: the first keys of every record.
Json run_json(const dump::OperatorRun& run);

// slot, dtype, shape, file, format, timestamp_us, reason.
Json slot_json(const dump::Slot& slot, const SlotFacts& facts);

// A number of statistics as they are printed: a number, or the text itself if it is none that JSON has.
Json number_json(const std::string& text);

// `record` as a line of JSON with its line feed.
std::string json_line(const Json& record);

}  // namespace opdump::cli
