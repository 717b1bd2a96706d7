#include "msaccucmp/convert/format_change.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "msaccucmp/convert/cut.h"
#include "msaccucmp/convert/shapes.h"
#include "msaccucmp/convert/wrong_filters.h"
#include "msaccucmp/judge/layout_change.h"
#include "msaccucmp/log.h"
#include "msaccucmp/paths.h"
#include "msaccucmp/shape_text.h"

namespace opdump::msaccucmp {
namespace {

using model::Format;
using model::Shape;
using model::TensorView;

std::string name_of(Format format) { return dump_format_name(static_cast<std::int32_t>(format)); }

Shape original_shape_of(const format::DumpTensor& tensor) {
  std::vector<std::int64_t> dims;
  for (const std::uint64_t dim : tensor.original_shape.value_or(std::vector<std::uint64_t>()))
    dims.push_back(static_cast<std::int64_t>(std::min<std::uint64_t>(dim, INT64_MAX)));
  return Shape(std::span<const std::int64_t>(dims));
}

// Of sizes that come from a file.
std::int64_t product_of(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

class FormatChanger {
 public:
  FormatChanger(const DumpFile& file, const format::DumpTensor& tensor, const FormatOptions& options,
                std::string_view name, Log& log)
      : tensor_(tensor),
        options_(options),
        name_(name),
        path_(file.path.string()),
        log_(log),
        is_bug_compatible_(file.is_bug_compatible),
        from_(static_cast<Format>(tensor.format)),
        stored_(elements_of(file, tensor)),
        groups_(std::max<std::int64_t>(tensor.sub_format, 1)) {}

  ChangedTensor change() {
    check_rank();
    if (is_bug_compatible_)
      if (const Status status = check_format(tensor_.format, log_); status != Status::ok)
        return {status, {}, false, 0};
    wanted_ = options_.shape && options_.shape->rank() > 0 ? *options_.shape : original_shape_of(tensor_);
    if (from_ == Format::fractal_nz)
      if (const Status status = check_matrix(); status != Status::ok) return {status, {}, false, 0};
    log_.info("Before transferring the format, the data of " + name_ + " is " + name_of(from_) +
              shape_text(stored_.shape) + ".");
    if (from_ == options_.to) return keep();
    const std::string module = "convert_" + name_of(from_) + "_to_" + name_of(options_.to);
    const bool is_plugin = options_.plugins != nullptr && options_.plugins->modules.contains(module);
    if (is_plugin) return call_plugin(module);
    if (!is_builtin_change(from_, options_.to)) return not_supported();
    return convert(module);
  }

 private:
  // A format of four dimensions on another tensor says nothing.
  void check_rank() {
    const bool has_four = from_ == Format::nchw || from_ == Format::nhwc || from_ == Format::hwcn;
    if (!has_four || stored_.shape.rank() == 4) return;
    log_.warn("The format(" + name_of(from_) + ") of the dump data is 4 dimensions, but the shape " +
              shape_text(stored_.shape) + " is not 4 dimensions, the real format is ND for " + name_ +
              " of " + in_quotes(path_) + ".");
    from_ = Format::nd;
  }

  // The original asks that a matrix fills its blocks up to the last one, and counts 16 to a block.
  Status check_matrix() {
    const Shape& stored = stored_.shape;
    if (wanted_.rank() == 0)
      return log_.fail(Status::invalid_parameter,
                       "The format before transfer is FRACTAL_NZ. Please enter a valid shape.");
    if (stored.rank() < 4) return log_.crash("list index out of range");
    const std::size_t last = stored.rank() - 1;
    std::vector<std::int64_t> padded(stored.dims().begin(), stored.dims().end() - 4);
    padded.push_back(product_of(stored[last - 1], stored[last - 2]));
    padded.push_back(product_of(stored[last], stored[last - 3]));
    const std::size_t rank = padded.size();
    bool fills = true;
    for (std::size_t i = 1; fills && i <= 2; ++i) {
      if (wanted_.rank() < i) return log_.crash("list index out of range");
      const std::int64_t want = wanted_[wanted_.rank() - i], have = padded[rank - i];
      fills = want <= have && want > have - 16;
    }
    fills = fills && wanted_.rank() == rank;
    const bool has_batch = fills && std::equal(padded.begin(), padded.end() - 2, wanted_.dims().begin());
    if (has_batch) return Status::ok;
    return log_.fail(Status::invalid_parameter, "The target shape " + shape_text(wanted_) + " is invalid" +
                                                    (fills ? ", the" : ". The") + " recommended shape is " +
                                                    shape_text(Shape(std::span<const std::int64_t>(padded))) +
                                                    ".");
  }

  ChangedTensor keep() {
    log_.info("There is no need to transfer format because the format (" + dump_format_name(tensor_.format) +
              ") is the same for " + name_ + " of " + in_quotes(path_) + ".");
    if (!stored_.fits && stored_.elements.count == 0)
      return {Status::unknown, {}, false, 0, cannot_reshape(0, stored_.shape)};
    if (!stored_.fits)
      return {log_.fail(Status::invalid_dump, "The length(" + std::to_string(stored_.elements.count) +
                                                  ") is not match with the shape " +
                                                  shape_text(stored_.shape) + "."),
              {},
              false,
              0};
    return {Status::ok, arrays::Array{stored_.dtype, stored_.shape, arrays::make_pieces(stored_.elements)},
            false, target()};
  }

  std::int32_t target() const { return static_cast<std::int32_t>(options_.to); }

  ChangedTensor not_supported() {
    log_.warn("Not supported from " + name_of(from_) + " to " + name_of(options_.to) + ".");
    return {Status::invalid_format, {}, false, 0};
  }

  ChangedTensor failed(const std::string& module, const std::string& reason) {
    return {log_.fail(Status::convert_function, "Failed to execute 'convert' in '" + module + "'. " + reason),
            {},
            false,
            0};
  }

  ChangedTensor call_plugin(const std::string& module) {
    auto array =
        run_format_plugin(*options_.plugins, module, stored_.shape, wanted_, groups_, stored_.elements);
    if (!array && array.error().code() == Code::unsupported)
      return {log_.fail(Status::convert_function, array.error().message()), {}, false, 0};
    if (!array) return failed(module, array.error().message());
    say_after(array->shape);
    ChangedTensor changed{Status::ok, std::move(*array), false, target()};
    if (const auto result = cut(changed.array.shape); !result)
      changed.format = tensor_.format;
    else if (*result != changed.array.shape)
      return cut_plugin(std::move(changed), *result);
    return changed;
  }

  // An array that is not a change of layout of ours is held to be cut.
  ChangedTensor cut_plugin(ChangedTensor changed, const Shape& result) {
    auto whole = std::make_shared<std::vector<std::byte>>();
    for (;;) {
      auto piece = changed.array.pieces->next();
      if (!piece) return {log_.fail(Status::unknown, piece.error().message()), {}, false, 0};
      if (piece->empty()) break;
      whole->insert(whole->end(), piece->begin(), piece->end());
    }
    Shape padded = changed.array.shape;
    std::vector<std::int64_t> dims(padded.dims().begin(), padded.dims().end());
    dims.resize(result.rank(), 1);
    auto view = model::TensorView::row_major(changed.array.dtype, Shape(std::span<const std::int64_t>(dims)),
                                             whole->data());
    view.shape = result;
    changed.array.shape = result;
    changed.array.pieces = std::make_unique<HeldPieces>(std::move(whole), view);
    return changed;
  }

  // Pieces of memory that they own.
  class HeldPieces final : public arrays::ArrayPieces {
   public:
    HeldPieces(std::shared_ptr<std::vector<std::byte>> memory, const model::TensorView& view)
        : memory_(std::move(memory)), pieces_(arrays::make_pieces(view, std::nullopt)) {}
    Result<std::span<const std::byte>> next() override { return pieces_->next(); }

   private:
    std::shared_ptr<std::vector<std::byte>> memory_;
    std::unique_ptr<arrays::ArrayPieces> pieces_;
  };

  void say_after(const Shape& shape) {
    log_.info("After transferring the format, the data of " + name_ + " is " + name_of(options_.to) +
              shape_text(shape) + ".");
  }

  // The shape to cut `have` to; nothing if it stays whole because the original fails.
  std::optional<Shape> cut(const Shape& have) {
    if (wanted_.rank() == 0) return have;
    const auto result = cut_shape(have, wanted_, log_);
    const std::string shapes = "from " + shape_text(have) + " to " + shape_text(wanted_) + ".";
    if (result)
      log_.info("The data of " + name_ + " has been sliced " + shapes);
    else
      log_.fail(Status::invalid_shape, "Failed to slice data for '" + path_ + "' " + shapes);
    return result;
  }

  Result<arrays::LayoutChange> shapes() {
    return shapes_of_change({from_, options_.to, stored_.shape, wanted_, groups_}, stored_.elements.count,
                            is_bug_compatible_, log_);
  }

  // What is not checked yet must not decide about memory: only FRACTAL_Z may be larger than what it is made
  // of.
  Result<> check_size(const arrays::LayoutChange& change) const {
    const auto count = model::element_count(change.made);
    const std::uint64_t factor = options_.to == Format::fractal_z ? 256 : 1;
    if (!count || *count / factor > stored_.elements.count)
      return Error(Code::corrupt, "cannot make shape " + numpy_shape(change.made));
    return ok();
  }

  Result<std::unique_ptr<arrays::ArrayPieces>> make_changed(const arrays::LayoutChange& change,
                                                            unsigned threads) const {
    if (model::element_count(change.result) == 0u)
      return arrays::make_pieces(
          arrays::Elements{stored_.elements.dtype, 0, {}, std::nullopt, is_bug_compatible_});
    const bool is_wrong = is_bug_compatible_ && groups_ > 1 && change.to == Format::fractal_z;
    const std::size_t size = model::dtype_info(stored_.elements.dtype).bits / 8;
    if (!is_wrong || size == 0) return arrays::change_layout(stored_.elements, change, threads);
    OPDUMP_TRY(std::vector<std::byte> made, make_wrong_filters(stored_.elements.bytes, size, change.from,
                                                               change.stored, change.made, groups_));
    auto memory = std::make_shared<std::vector<std::byte>>(std::move(made));
    TensorView view = TensorView::row_major(stored_.elements.dtype, change.made, memory->data());
    view.shape = change.result;
    return std::unique_ptr<arrays::ArrayPieces>(std::make_unique<HeldPieces>(std::move(memory), view));
  }

  ChangedTensor convert(const std::string& module) {
    auto change = shapes();
    if (!change) return failed(module, change.error().message());
    if (auto checked = check_size(*change); !checked) return failed(module, checked.error().message());
    // What is said about the cut comes after what is said about the change, which may fail.
    Log held;
    const Shape converted = change->result;
    std::optional<Shape> result = converted;
    if (wanted_.rank() > 0) result = cut_shape(converted, wanted_, held);
    if (result && result->rank() == converted.rank()) change->result = *result;
    const bool is_fortran = options_.may_be_fortran && is_saved_as_fortran(*change);
    auto pieces = is_fortran ? Result<std::unique_ptr<arrays::ArrayPieces>>(nullptr)
                             : make_changed(*change, options_.threads);
    if (!pieces) return failed(module, pieces.error().message());
    say_after(converted);
    ChangedTensor changed{Status::ok, arrays::Array{stored_.dtype, change->result, std::move(*pieces)}, false,
                          target()};
    if (!cut(converted)) changed.format = tensor_.format;
    if (is_fortran) {
      changed.is_fortran = true;
      stored_.elements.count = *model::element_count(change->result);
      changed.array.pieces = arrays::make_pieces(stored_.elements);
    }
    return changed;
  }

  const format::DumpTensor& tensor_;
  const FormatOptions& options_;
  std::string name_, path_;
  Log& log_;
  bool is_bug_compatible_;
  Format from_;
  DumpElements stored_;
  std::int64_t groups_;
  Shape wanted_;
};

}  // namespace

ChangedTensor change_format(const DumpFile& file, const format::DumpTensor& tensor,
                            const FormatOptions& options, std::string_view name, Log& log) {
  return FormatChanger(file, tensor, options, name, log).change();
}

}  // namespace opdump::msaccucmp
