#include "dump/write/device_memory.h"

#include <optional>

#include "dump/write/call_data.h"
#include "math/layout/device_layout.h"
#include "math/layout/strided_copy.h"

namespace opdump::dump {
namespace {

struct Target {
  model::Format from, to;
  model::Shape shape;
};

std::optional<Target> find_target(const SchemeWriter::Member& member,
                                  std::span<const model::Format> formats) {
  const model::TensorView& view = member.view;
  const auto from = model::find_format(format_of(member.address, view.shape));
  if (!from || view.shape.rank() < 2 || model::dtype_info(view.dtype).bits % 8 != 0) return std::nullopt;
  const math::LayoutOptions options{.blocks = math::block_sizes(view.dtype, math::Chip::ascend)};
  for (const model::Format to : formats) {
    if (to == *from || !math::can_convert_layout(*from, to)) continue;
    if (auto shape = math::convert_shape(view.shape, *from, to, options)) return Target{*from, to, *shape};
  }
  return std::nullopt;
}

}  // namespace

Result<StoredMembers> store_in_formats(std::span<const SchemeWriter::Member> members,
                                       std::span<const model::Format> formats) {
  StoredMembers stored{{members.begin(), members.end()}, {}};
  for (SchemeWriter::Member& member : stored.members) {
    const auto target = find_target(member, formats);
    if (!target) continue;
    model::TensorView plain = member.view;
    std::unique_ptr<std::byte[]> row_major;
    if (!plain.is_contiguous()) {
      row_major = std::make_unique_for_overwrite<std::byte[]>(plain.byte_count());
      math::copy_row_major(plain, {row_major.get(), plain.byte_count()});
      plain = model::TensorView::row_major(plain.dtype, plain.shape, row_major.get());
    }
    auto memory = model::TensorView::row_major(plain.dtype, target->shape, nullptr);
    stored.memory.push_back(std::make_unique<std::byte[]>(memory.byte_count()));
    memory.data = stored.memory.back().get();
    OPDUMP_CHECK_OK(math::convert_layout(plain, target->from, target->to, target->shape, 1,
                                         {stored.memory.back().get(), memory.byte_count()}));
    member.view = memory;
    member.address.format = model::format_name(target->to);
  }
  return stored;
}

}  // namespace opdump::dump
