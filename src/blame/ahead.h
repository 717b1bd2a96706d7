// The worker runs operators again while the walk looks at those before them.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>

#include "blame/request.h"
#include "compare/comparison.h"

namespace opdump::blame {

// Returns the question about an operator of both runs whose arguments do not differ.
Question usual_question(const compare::OperatorComparison& op);

class Ahead {
 public:
  // `expect` is told what will probably be asked; empty: nobody works ahead. At most `limit` are run again.
  Ahead(std::span<const compare::OperatorComparison> suspects,
        const std::function<void(const Upcoming& expected)>& expect, std::uint64_t limit)
      : suspects_(suspects), expect_(expect), limit_(limit) {}

  // It is the turn of suspect `i`, and `replayed` have run again. Those that follow will be asked about
  // unless something is found before; if `chosen` is not null, all of it and no others.
  void look_beyond(std::uint32_t i, std::uint64_t replayed, const std::set<std::uint32_t>* chosen = nullptr);

 private:
  std::span<const compare::OperatorComparison> suspects_;
  const std::function<void(const Upcoming& expected)>& expect_;
  std::uint64_t limit_;
  std::uint32_t next_ = 0;  // the first that was not looked at
};

}  // namespace opdump::blame
