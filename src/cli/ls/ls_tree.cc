#include "cli/ls/ls_tree.h"

#include <string>
#include <vector>

#include "base/text/columns.h"
#include "base/text/text.h"
#include "base/text/text_arena.h"
#include "compare/names.h"
#include "report/module_tree.h"
#include "report/table.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

struct ModuleTotals {
  std::uint64_t operators = 0, executions = 0, tensors = 0, bytes = 0;
  ModuleTotals& operator+=(const ModuleTotals& more) {
    operators += more.operators;
    executions += more.executions;
    tensors += more.tensors;
    bytes += more.bytes;
    return *this;
  }
};

}  // namespace

void print_tree(const dump::DumpSet& dump, const Chosen& chosen, std::optional<std::size_t> depth) {
  report::ModuleTree<ModuleTotals> tree;
  InternedTexts names;
  for (const std::uint32_t i : chosen) {
    const dump::OperatorRun run = dump.runs().without_slots(i);
    const std::size_t known = names.size();
    names.add(compare::operator_name(run));
    ModuleTotals totals{.operators = names.size() - known, .executions = 1};
    for (const dump::Slot& slot : dump.runs().slots(i)) {
      totals.tensors += !slot.file.empty();
      totals.bytes += slot.stored_bytes();
    }
    tree.add(compare::module_of(run), totals);
  }
  std::vector<std::vector<std::string>> lines{{"module", "operators", "runs", "tensors", "size"}};
  for (const auto& row : depth ? tree.rows_to(*depth) : tree.rows(kMostTreeLines))
    lines.push_back({std::string(2 * row.depth, ' ') + compare::one_line(row.name),
                     std::to_string(row.totals.operators), std::to_string(row.totals.executions),
                     std::to_string(row.totals.tensors), format_bytes(row.totals.bytes)});
  for (const std::string& line : report::format_columns(lines, terminal::terminal_width()))
    terminal::print(line);
  const std::string hint =
      counted(chosen.size(), "execution") +
      "; --flat lists them, --module NAME shows one module, --depth N opens more of them";
  terminal::print("\n" + wrap_words(hint, terminal::terminal_width(), 2) + "\n");
}

}  // namespace opdump::cli
