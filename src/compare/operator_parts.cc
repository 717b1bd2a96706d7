#include "compare/operator_parts.h"

#include <string>
#include <utility>

#include "base/packing.h"
#include "compare/packed_result.h"

namespace opdump::compare {
namespace {

using dump::OperatorRun;
using dump::Slot;

constexpr std::size_t kOrderBytes = sizeof(std::uint64_t);

std::shared_ptr<const OperatorRun> as_shared(bool is_there, OperatorRun run) {
  return is_there ? std::make_shared<const OperatorRun>(std::move(run)) : nullptr;
}

// Pairs the slots of `op`, both or one of whose sides are set.
void fill_slots(OperatorComparison& op, bool by_name) {
  static const OperatorRun kNothing;
  for (const SlotPair& slots : pair_slots(op.golden != nullptr ? *op.golden : kNothing,
                                          op.actual != nullptr ? *op.actual : kNothing, by_name)) {
    SlotComparison& slot = op.slots.emplace_back();
    slot.golden = slots.golden;
    slot.actual = slots.actual;
  }
}

// Whether the dump knows what operands are called.
template <typename Slots>
bool have_names(Slots&& slots) {
  for (const Slot& slot : slots)
    if (!slot.argument.empty()) return true;
  return false;
}

std::string tell_left_out(Fusion fusion) {
  switch (fusion) {
    case Fusion::fused:
      return "only the outputs of the last of several fused operators are compared";
    case Fusion::part:
      return "part of a fused operator";
    case Fusion::added:
      return "added by the engine";
    case Fusion::none:
      break;
  }
  return {};
}

// The place of a slot in its record.
std::string_view place_of(std::string_view record) {
  SortKeyReader in(record);
  in.number();
  in.text();
  in.number();
  return record.substr(0, record.size() - in.rest().size());
}

}  // namespace

OperatorComparison make_operator(const OperatorPair& pair, const dump::DumpSet& golden,
                                 const dump::DumpSet& actual) {
  OperatorComparison op;
  op.is_alone = pair.is_alone;
  op.left_out = tell_left_out(pair.fusion);
  if (pair.golden != OperatorPair::kNone)
    op.golden = std::make_shared<const OperatorRun>(golden.runs()[pair.golden]);
  if (pair.actual != OperatorPair::kNone)
    op.actual = std::make_shared<const OperatorRun>(actual.runs()[pair.actual]);
  const bool is_paired = op.golden != nullptr && op.actual != nullptr;
  fill_slots(op, is_paired && have_names(op.golden->slots) && have_names(op.actual->slots));
  return op;
}

Result<OperatorParts> OperatorParts::make(const OperatorPair& pair, const dump::DumpSet& golden,
                                          const dump::DumpSet& actual, std::uint64_t parts) {
  OperatorParts made;
  made.parts_ = parts;
  made.is_alone_ = pair.is_alone;
  made.left_out_ = tell_left_out(pair.fusion);
  const bool is_paired = pair.golden != OperatorPair::kNone && pair.actual != OperatorPair::kNone;
  made.by_name_ = is_paired && have_names(golden.runs().slots(pair.golden)) &&
                  have_names(actual.runs().slots(pair.actual));
  OPDUMP_CHECK_OK(made.fill(made.golden_, golden.runs(), pair.golden));
  OPDUMP_CHECK_OK(made.fill(made.actual_, actual.runs(), pair.actual));
  return made;
}

Result<> OperatorParts::fill(Source& source, const dump::Runs& runs, std::uint32_t index) {
  if (index == OperatorPair::kNone) return ok();
  source.head = runs.without_slots(index);
  source.slots = std::make_unique<RecordSorter>();
  std::string record;
  for (const Slot& slot : runs.slots(index)) {
    const bool is_named = by_name_ && !slot.argument.empty();
    record.clear();
    SortKey(record)
        .number(static_cast<std::uint64_t>(slot.side))
        .text(is_named ? slot.argument : std::string_view())
        .number(is_named ? 0 : slot.index)
        .number(source.slots->size());
    packer_.pack(record, slot, {});
    source.slots->add(record);
  }
  count_ += source.slots->size();
  source.reader = source.slots->sorted();
  OPDUMP_TRY(source.has_next, source.reader->next());
  return ok();
}

// Moves the slots of a place to `run`: mostly one.
Result<> OperatorParts::take(Source& source, std::string_view place, OperatorRun& run) {
  while (source.has_next && place_of(source.reader->record()) == place) {
    Unpacker in(source.reader->record().substr(place.size() + kOrderBytes));
    run.slots.push_back(packer_.unpack(in, {}));
    ++taken_;
    OPDUMP_TRY(source.has_next, source.reader->next());
  }
  return ok();
}

Result<OperatorComparison> OperatorParts::next() {
  const bool is_last = ++given_ == parts_;
  const std::uint64_t end = count_ / parts_ * given_;
  OperatorRun golden = golden_.head, actual = actual_.head;
  std::string place;
  while ((golden_.has_next || actual_.has_next) && (is_last || taken_ < end)) {
    const Source* first = golden_.has_next ? &golden_ : &actual_;
    if (golden_.has_next && actual_.has_next &&
        place_of(actual_.reader->record()) < place_of(golden_.reader->record()))
      first = &actual_;
    place = place_of(first->reader->record());
    OPDUMP_CHECK_OK(take(golden_, place, golden));
    OPDUMP_CHECK_OK(take(actual_, place, actual));
  }
  OperatorComparison part;
  part.is_alone = is_alone_;
  part.left_out = left_out_;
  part.has_more = !is_last;
  part.golden = as_shared(golden_.slots != nullptr, std::move(golden));
  part.actual = as_shared(actual_.slots != nullptr, std::move(actual));
  fill_slots(part, by_name_);
  return part;
}

void MeasuredParts::add(const OperatorComparison& part) {
  if (parts_.count() == 0) {
    const auto head = [](const std::shared_ptr<const OperatorRun>& run) {
      if (run == nullptr) return run;
      auto copy = std::make_shared<OperatorRun>(*run);
      copy->slots = {};
      return std::shared_ptr<const OperatorRun>(std::move(copy));
    };
    heads_.golden = head(part.golden);
    heads_.actual = head(part.actual);
    heads_.is_alone = part.is_alone;
    heads_.left_out = part.left_out;
  }
  packed_.clear();
  Packer out(packed_);
  out.object(part.has_more);
  out.number(part.slots.size());
  for (const SlotComparison& slot : part.slots) {
    for (const Slot* of : {slot.golden, slot.actual}) {
      out.object(of != nullptr);
      if (of != nullptr) packer_.pack(packed_, *of, {});
    }
    pack_result(packed_, slot);
  }
  parts_.add(packed_);
}

Result<> MeasuredParts::visit(const std::function<Result<>(OperatorComparison part)>& take) const {
  return parts_.visit([&](std::string_view packed) {
    Unpacker in(packed);
    OperatorComparison part;
    part.is_alone = heads_.is_alone;
    part.left_out = heads_.left_out;
    part.has_more = in.object<bool>();
    const std::uint64_t count = in.number();
    const auto copy = [&](const std::shared_ptr<const OperatorRun>& head) {
      auto run = std::make_shared<OperatorRun>(head != nullptr ? *head : OperatorRun());
      run->slots.reserve(count);  // they must stay where they are
      return run;
    };
    const auto golden = copy(heads_.golden), actual = copy(heads_.actual);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto next = [&](OperatorRun& run) -> const Slot* {
        return in.object<bool>() ? &run.slots.emplace_back(packer_.unpack(in, {})) : nullptr;
      };
      const Slot* const of_golden = next(*golden);
      const Slot* const of_actual = next(*actual);
      SlotComparison& slot = part.slots.emplace_back(unpack_result(in));
      slot.golden = of_golden;
      slot.actual = of_actual;
    }
    if (heads_.golden != nullptr) part.golden = golden;
    if (heads_.actual != nullptr) part.actual = actual;
    return take(std::move(part));
  });
}

}  // namespace opdump::compare
