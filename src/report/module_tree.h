// Totals by module, as a tree: what is in a module counts in all modules around it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/natural_order.h"

namespace opdump::report {

// `Totals` is summed up by += and begins as Totals{}.
template <typename Totals>
class ModuleTree {
 public:
  struct Row {
    std::size_t depth = 0;
    std::string name;  // below the row around it: "blocks", or "blocks/0" where nothing else is in "blocks"
    Totals totals{};
  };

  // `modules` are those that something is in, outermost first: "blocks/0/attention"; there may be none.
  void add(std::string_view modules, const Totals& totals) {
    Branch* branch = &root_;
    branch->totals += totals;
    if (modules.empty()) modules = "(no module)";
    for (std::size_t first = 0; first <= modules.size();) {
      const std::size_t end = std::min(modules.find('/', first), modules.size());
      auto& child = branch->children[std::string(modules.substr(first, end - first))];
      if (child == nullptr) child = std::make_unique<Branch>();
      branch = child.get();
      branch->totals += totals;
      first = end + 1;
    }
    branch->has_own = true;
  }

  // In natural order, as deep as `most` rows allow; at least the outermost modules.
  std::vector<Row> rows(std::size_t most) const {
    std::vector<Row> rows;
    for (std::size_t depth = 1;; ++depth) {
      std::vector<Row> deeper;
      append(deeper, root_, 0, depth);
      const bool is_whole = deeper.size() == rows.size();
      if (depth > 1 && (deeper.size() > most || is_whole)) return rows;
      rows = std::move(deeper);
    }
  }
  // Goes as deep as `depth` modules in one another.
  std::vector<Row> rows_to(std::size_t depth) const {
    std::vector<Row> rows;
    append(rows, root_, 0, depth);
    return rows;
  }

 private:
  struct Branch {
    Totals totals{};
    bool has_own = false;  // operators that are in no module within it
    std::map<std::string, std::unique_ptr<Branch>, NaturalLess> children;
  };

  static void append(std::vector<Row>& rows, const Branch& branch, std::size_t depth,
                     std::size_t most_depth) {
    if (depth == most_depth) return;
    for (const auto& [name, child] : branch.children) {
      std::string path = name;
      const Branch* at = child.get();
      while (at->children.size() == 1 && !at->has_own) {
        path.append("/").append(at->children.begin()->first);
        at = at->children.begin()->second.get();
      }
      rows.push_back({depth, std::move(path), at->totals});
      append(rows, *at, depth + 1, most_depth);
    }
  }

  Branch root_;
};

}  // namespace opdump::report
