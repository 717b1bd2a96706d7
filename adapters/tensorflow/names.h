// Names of operators. A kernel of a function has the name of its node; an operator that Python runs directly
// has the name that it would have in a graph: scope, type and, from the second on, a number.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "opdump/opdump.h"

namespace opdump::tensorflow_adapter {

struct Source {
  std::string file;
  int line = 0;
};

class Names {
 public:
  explicit Names(opdump_session* session) : session_(session) {}

  // The next operator of this name in the step. `is_eager`: it has no node. `iteration` is that of the loop
  // it is in.
  const opdump_op* next(std::string_view type, std::string_view name, bool is_eager, std::int64_t iteration,
                        const Source* source);
  // Names count from the beginning of a step.
  void begin_step();
  // The line that made the node `name`.
  void add_source(std::string name, Source source);
  // Operators in the scope `name` belong to an optimizer.
  void add_optimizer(std::string name);
  opdump_phase phase_of(std::string_view type, std::string_view name) const;

 private:
  std::string unique(std::string_view name, bool is_eager, std::int64_t iteration);
  const Source* find_source(std::string_view name) const;

  opdump_session* const session_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, int> uses_;  // in this step
  std::unordered_map<std::string, const opdump_op*> operators_;
  std::unordered_map<std::string, Source> sources_;
  std::set<std::string, std::less<>> optimizers_;
};

}  // namespace opdump::tensorflow_adapter
