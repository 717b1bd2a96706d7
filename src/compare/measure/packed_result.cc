#include "compare/measure/packed_result.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace opdump::compare {
namespace {

std::optional<model::Shape> unpack_shape(Unpacker& in) {
  const bool is_known = in.object<bool>();
  std::vector<std::int64_t> dims;
  for (auto left = in.number(); left > 0 && in.is_ok(); --left) dims.push_back(in.signed_number());
  return is_known ? std::optional(model::Shape(dims)) : std::nullopt;
}

}  // namespace

void pack_result(std::string& bytes, const SlotComparison& slot) {
  Packer out(bytes);
  out.object(slot.verdict);
  out.object(slot.from_statistics);
  out.object(slot.dtype);
  out.number(slot.bytes);
  out.object(slot.shape.has_value());
  out.number(slot.shape ? slot.shape->rank() : 0);
  if (slot.shape)
    for (const std::int64_t dim : slot.shape->dims()) out.signed_number(dim);
  out.object(slot.metrics.has_value());
  if (slot.metrics) out.object(*slot.metrics);
  out.text(slot.reason);
  out.number(slot.wrong_ranks.size());
  for (const std::uint32_t rank : slot.wrong_ranks) out.number(rank);
  out.object(slot.is_sum);
  out.object(slot.is_cut_in_rows);
}

SlotComparison unpack_result(Unpacker& in) {
  SlotComparison slot;
  slot.verdict = in.object<Verdict>();
  slot.from_statistics = in.object<bool>();
  slot.dtype = in.object<model::DType>();
  slot.bytes = in.number();
  slot.shape = unpack_shape(in);
  if (in.object<bool>()) slot.metrics = in.object<math::Metrics>();
  slot.reason = in.text();
  for (auto left = in.number(); left > 0 && in.is_ok(); --left)
    slot.wrong_ranks.push_back(static_cast<std::uint32_t>(in.number()));
  slot.is_sum = in.object<bool>();
  slot.is_cut_in_rows = in.object<bool>();
  return slot;
}

}  // namespace opdump::compare
