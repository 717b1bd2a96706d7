// The graphs of a dump as rows of a result: edges, arguments, source lines.
#pragma once

#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "dump/read/dump_set.h"
#include "model/graph.h"
#include "result/database.h"

namespace opdump::result {

using Insert = std::function<Result<>(std::string_view table, std::initializer_list<Value> values)>;

class GraphTables {
 public:
  // Graphs that cannot be read become remarks. Errors: io, those of `insert`.
  Result<> add(const dump::DumpSet& dump, std::string_view side, const Insert& insert);

 private:
  Result<> add_graph(const model::Graph& graph, std::string_view side, std::int64_t rank,
                     const Insert& insert);
  Result<> add_sources(const model::Node& node, const Insert& insert);
  std::set<std::pair<std::string, int>> lines_;  // written so far
};

// "3", "true", "[1, 2]", "\"text\"", "input.0" for a tensor.
std::string format_argument(const model::Argument& argument);

}  // namespace opdump::result
