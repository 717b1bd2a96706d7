#include "dump/read/slots_by_operator.h"

#include <utility>

#include "base/packing.h"

namespace opdump::dump {
namespace {

// Those of the directory's own step come first.
void put_step(SortKey& key, const std::optional<std::int64_t>& step) {
  key.number(step ? 1 : 0).signed_number(step.value_or(0));
}

std::optional<std::int64_t> take_step(SortKeyReader& in) {
  const bool has_step = in.number() == 1;
  const std::int64_t step = in.signed_number();
  return has_step ? std::optional(step) : std::nullopt;
}

// Within an operator.
void put_order(SortKey& key, const Slot& slot) {
  key.number(slot.timestamp_us).number(static_cast<std::uint64_t>(slot.side) << 32 | slot.index);
}
constexpr std::size_t kOrderBytes = 2 * sizeof(std::uint64_t);

}  // namespace

void SlotsByOperator::add(const OperatorKey& op, const PlacedSlot& placed) {
  record_.clear();
  SortKey key(record_);
  put_step(key, op.step);
  key.text(op.type).text(op.name).number(op.execution).number(by_name_.size());
  put_order(key, placed.slot);
  Packer packed(record_);
  packed.number(placed.task);
  packed.signed_number(placed.stream);
  packer_.pack(record_, placed.slot, directory_);
  by_name_.add(record_);
}

// Of each operator the slot that was added first is the first of its records.
Result<> SlotsByOperator::note_firsts() {
  std::string operator_bytes, packed_operator;
  std::optional<std::int64_t> step;
  std::uint64_t first = 0;
  return by_name_.visit([&](std::string_view record) {
    if (operator_bytes.empty() || !record.starts_with(operator_bytes)) {
      SortKeyReader in(record);
      step = take_step(in);
      packed_operator.clear();
      Packer out(packed_operator);
      out.text(in.text());
      out.text(in.text());
      out.number(in.number());
      operator_bytes = record.substr(0, record.size() - in.rest().size());
      first = in.number();
    }
    SortKeyReader in(record.substr(operator_bytes.size()));
    const std::uint64_t added = in.number();
    record_.clear();
    SortKey key(record_);
    put_step(key, step);
    key.number(first);
    record_.append(in.rest().substr(0, kOrderBytes));
    key.number(added);
    record_.append(packed_operator).append(in.rest().substr(kOrderBytes));
    by_operator_.add(record_);
    return ok();
  });
}

Result<> SlotsByOperator::drain(const Take& take) {
  OPDUMP_CHECK_OK(note_firsts());
  by_name_ = {};
  return by_operator_.visit([&](std::string_view record) {
    SortKeyReader key(record);
    OperatorKey op;
    op.step = take_step(key);
    key.number();  // when the operator was met, the slot's order, when it was added
    Unpacker in(key.rest().substr(kOrderBytes + sizeof(std::uint64_t)));
    op.type = in.text();
    op.name = in.text();
    op.execution = static_cast<std::uint32_t>(in.number());
    PlacedSlot placed;
    placed.task = in.number();
    placed.stream = in.signed_number();
    placed.slot = packer_.unpack(in, directory_);
    return take(op, std::move(placed));
  });
}

}  // namespace opdump::dump
