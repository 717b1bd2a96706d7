#include "capture/read_check.h"

#include <utility>

#include "capture/tensor_forms.h"
#include "math/hash.h"

namespace opdump::capture {
namespace {

constexpr std::size_t kMaxRecent =
    64 * 1024;  // tensors; older ones are dropped if they are not read meanwhile

}  // namespace

ReadCheck::Reading ReadCheck::look(const model::Operator& op, model::Side side, const Operand& operand,
                                   std::int64_t step) {
  // A transposed view is the same bytes.
  const model::TensorView view = in_memory(operand.view);
  const auto key = ReuseKey::make(operand.content, view, true);
  Seen seen{math::xxh128_hex(view), &op, side, step};
  const std::lock_guard lock(mutex_);
  auto node = recent_.extract(key);
  if (node.empty()) node = older_.extract(key);
  Reading answer;
  if (!node.empty() && side == model::Side::input && node.mapped().hash != seen.hash) {
    const Seen& before = node.mapped();
    ++changes_[operand.content];
    answer.line = op.name + " reads input." + std::to_string(operand.index) + ", which is not what " +
                  before.op->name + (before.side == model::Side::output ? " wrote" : " read") +
                  (before.step == step ? "" : " in step " + std::to_string(before.step)) +
                  ": its memory was changed in between, and by no recorded operator";
  }
  if (recent_.size() >= kMaxRecent) {
    older_ = std::move(recent_);
    recent_.clear();
  }
  recent_.insert_or_assign(key, std::move(seen));
  answer.content = content_now(operand.content);
  return answer;
}

// Engines count contents from 1, so the highest bits are free.
std::uint64_t ReadCheck::content_now(std::uint64_t content) const {
  const auto found = changes_.find(content);
  return found == changes_.end() ? content : content + (found->second << 48);
}

}  // namespace opdump::capture
