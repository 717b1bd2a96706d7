// The rows shared by MindSpore's graph files (mindspore.md 5.4, 5.5; docs/formats/graphs.md): a row for each
// node in order of execution, and after a node with several outputs a row TupleGetItem for each output that
// is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/graph.h"

namespace opdump::format {

inline constexpr std::string_view kTupleGetItem = "TupleGetItem";
// The attribute that holds the operand indices of a node's tensors, where they are not their positions.
inline constexpr std::string_view kOperandIndex = "operand_index";

class GraphRows {
 public:
  // Borrows `graph`.
  explicit GraphRows(const model::Graph& graph);

  struct Row {
    std::uint32_t node = 0;             // into Graph::nodes
    std::optional<std::uint32_t> item;  // this output of it, taken by a TupleGetItem
    std::uint32_t item_number = 0;      // of all TupleGetItems
  };
  const std::vector<Row>& rows() const { return rows_; }

  // The row that produces the operand of `node` (into Graph::nodes) with this `source`. Nothing if no earlier
  // node produces it.
  std::optional<std::size_t> find(const model::Source& source, std::size_t node) const;

  // The row of a node itself.
  std::size_t row_of(std::size_t node) const { return rows_of_nodes_[node]; }

  // The full name of a row: the node's own, or "Default/fc-Dense/TupleGetItem-op7".
  std::string full_name(const Row& row) const;

 private:
  const model::Graph& graph_;
  std::vector<Row> rows_;
  std::vector<std::size_t> rows_of_nodes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> items_;  // (node, output) -> row
};

// How many outputs a node has as files count them: up to the last, absent ones between. One that is not the
// first makes a tuple.
std::size_t output_count(const model::Node& node);
const model::Node::Output* find_output(const model::Node& node, std::uint32_t index);
const model::Node::Input* find_input(const model::Node& node, std::uint32_t index);

// Whether an argument is a tensor or a list that has one somewhere.
bool holds_tensor(const model::Argument& argument);

// The name of a graph in files: "kernel_graph0".
std::string graph_name(const model::Graph& graph);
// The number in "kernel_graph0" or "kernel_graph_0"; 0 for other names.
std::int64_t parse_graph_id(std::string_view name);

// `text` with control characters as blanks: one line of a file.
std::string one_line(std::string_view text);

// `name` as one word of an .ir: characters of the grammar become '_'.
std::string spell_word(std::string_view name);

// The text of a line of a source file (from 1), or nothing if it cannot be read.
using LineReader = std::function<std::optional<std::string>(const std::string& file, int line)>;

// "In file train.py:9, 4~31/    x = self.conv3(x)/" for each span of a node, outermost first.
std::vector<std::string> format_source_lines(const model::Node& node, const LineReader& read_line);

// The reverse, also of the older "In file train.py(9)/    x = self.conv3(x)/"; nothing for other lines.
std::optional<model::SourceSpan> parse_source_line(std::string_view line);

// Sets op.source_file and source_line to the innermost span outside of installed packages.
void choose_source(model::Node& node);

}  // namespace opdump::format
