#include "msaccucmp/judge/layout_match.h"

#include <algorithm>
#include <utility>

#include "base/text/concat.h"
#include "msaccucmp/judge/layout_change.h"
#include "msaccucmp/log.h"
#include "msaccucmp/shape_text.h"

namespace opdump::msaccucmp {
namespace {

using model::Format;
using model::Shape;

constexpr std::size_t kPaddedRank = 4;  // the original thinks in N, C, H and W
constexpr std::int64_t kBlockLength = 16;

bool is_four_dimensional(Format format) {
  return format == Format::nchw || format == Format::nhwc || format == Format::hwcn;
}

bool has_depth(Format format) {
  return format == Format::ndhwc || format == Format::ncdhw || format == Format::dhwcn ||
         format == Format::ndc1hwc0;
}

Shape to_shape(const std::vector<std::int64_t>& dims) { return Shape(std::span<const std::int64_t>(dims)); }

Failure cannot_compare(const std::string& op, const std::string& mine, const std::string& golden, Log& log) {
  Failure failure{Status::invalid_shape,
                  (op.empty() ? "" : "[" + op + "] ") +
                      "Due to the different shapes on the left and right,the left dump data" + mine +
                      " can not be compared to the right dump data" + golden +
                      ". Please check the batch of the dump data or the shape may be changed due to "
                      "optimization."};
  log.warn(failure.message);
  return failure;
}

// Shapes that say the same but for dimensions of 1.
bool are_alike(const Shape& mine, const Shape& golden) {
  const auto is_one = [](std::int64_t dim) { return dim == 1; };
  return (std::ranges::all_of(mine.dims(), is_one) && std::ranges::all_of(golden.dims(), is_one)) ||
         without_ones(mine) == without_ones(golden);
}

// Cuts `mine` by position to the size of `golden`: the first dimension that differs must be the larger one.
// An empty name of the operator: nothing is logged.
Outcome<TensorData> slice(const TensorData& mine, const Shape& golden, const std::string& op, Log& log) {
  if (mine.shape.rank() < golden.rank()) {
    if (are_alike(mine.shape, golden)) return mine;
    return cannot_compare(op, shape_text(without_ones(mine.shape)), shape_text(without_ones(golden)), log);
  }
  const Shape have = padded(mine.shape, kPaddedRank), want = padded(golden, have.rank());
  const auto ones = static_cast<std::size_t>(std::ranges::count(mine.shape.dims(), 1));
  if (model::element_count(have) == model::element_count(want) && ones + 1 >= mine.shape.rank()) return mine;
  const auto differs = std::ranges::mismatch(have.dims(), want.dims());
  if (differs.in1 == have.dims().end()) return mine;
  if (*differs.in1 < *differs.in2) {
    if (op.empty()) return Failure{Status::invalid_shape, ""};
    return cannot_compare(op, shape_text(have), shape_text(want), log);
  }
  TensorData whole = mine;
  whole.shape = have;
  Shape shape = have;
  if (have.rank() <= kPaddedRank + 1)
    for (std::size_t i = 0; i < have.rank(); ++i) shape.dims()[i] = std::min(have[i], want[i]);
  if (!op.empty())
    log.info("[" + op + "] The left dump data has been sliced from " + shape_text(mine.shape) + " to " +
             shape_text(want) + ".");
  return cropped(whole, shape, log);
}

// The original asks that a matrix fills its blocks up to the last one, and counts 16 to a block.
bool fills_blocks(std::int64_t wanted, std::int64_t stored) {
  return wanted <= stored && wanted > stored - kBlockLength;
}

Outcome<std::monostate> check_matrix(const Shape& stored, const Shape& wanted) {
  if (wanted.rank() == 0)
    return Failure{Status::fractal_nz,
                   "The format before transfer is FRACTAL_NZ. Please enter a valid shape."};
  std::vector<std::int64_t> dims;
  const std::size_t rank = stored.rank();
  for (std::size_t i = 0; i + 4 < rank; ++i) dims.push_back(stored[i]);
  if (rank >= 4) {
    dims.push_back(stored[rank - 2] * stored[rank - 3]);
    dims.push_back(stored[rank - 1] * stored[rank - 4]);
  }
  const Shape whole = to_shape(dims);
  const std::size_t last = wanted.rank();
  const bool fits = rank >= 4 && last == whole.rank() && fills_blocks(wanted[last - 1], whole[last - 1]) &&
                    fills_blocks(wanted[last - 2], whole[last - 2]);
  const std::string target = "The target shape " + shape_text(wanted) + " is invalid";
  if (!fits)
    return Failure{Status::fractal_nz, target + ". The recommended shape is " + shape_text(whole) + "."};
  if (!std::equal(dims.begin(), dims.end() - 2, wanted.dims().begin()))
    return Failure{Status::fractal_nz, target + ", the recommended shape is " + shape_text(whole) + "."};
  return std::monostate{};
}

// Elements that the batches of `wanted` and the blocks of `stored` hold.
bool holds_batches(const Shape& stored, const Shape& wanted, std::uint64_t count) {
  std::vector<std::int64_t> dims(wanted.dims().begin(), wanted.dims().end() - 2);
  for (std::size_t i = stored.rank() < 4 ? 0 : stored.rank() - 4; i < stored.rank(); ++i)
    dims.push_back(stored[i]);
  return model::element_count(to_shape(dims)) == count;
}

// The original's change of layout in a comparison.
Outcome<TensorData> convert(const LayoutRequest& change, const TensorData& data, const LayoutPlugin& plugin,
                            Log& log) {
  const Format from = change.from;
  const bool is_same =
      from == Format::nd || from == change.to || (is_four_dimensional(from) && change.stored.rank() != 4);
  if (is_same) return reshaped(data, change.stored, log);
  if (from == Format::fractal_nz) {
    if (change.to == Format::nd && change.wanted.rank() > 2 &&
        !holds_batches(change.stored, change.wanted, data.count())) {
      log.warn(
          "Cannot convert FRACTAL_NZ to ND, the reason is the length of array is not equal to the length of "
          "dest shape.");
      return reshaped(data, change.stored, log);
    }
    OPDUMP_TRY([[maybe_unused]] const std::monostate fits, check_matrix(change.stored, change.wanted));
  }
  return change_layout(change, data, plugin, log);
}

// Of the rules' shape and the data's one is NHWC and the other NCHW: the data decide.
void correct_format(OriginTensor& origin, const Shape& data) {
  const Shape original = to_shape(origin.shape);
  if (original.rank() != 4 || data.rank() != 4 || original == data) return;
  const bool data_is_nchw =
      original[0] == data[0] && original[1] == data[2] && original[2] == data[3] && original[3] == data[1];
  const bool data_is_nhwc =
      original[0] == data[0] && original[1] == data[3] && original[2] == data[1] && original[3] == data[2];
  if (origin.format == "NHWC" && data_is_nchw) origin.format = "NCHW";
  if (origin.format == "NCHW" && data_is_nhwc) origin.format = "NHWC";
}

class Matcher {
 public:
  Matcher(MatchRequest request, Log& log) : request_(std::move(request)), log_(log) {}

  Outcome<MatchedPair> match() {
    OPDUMP_TRY(const Format golden_format, find_golden_format());
    if (request_.is_unchanged) return unchanged();
    const std::string format(model::format_name(mine().format));
    if (format.empty())
      return log_.fail(
          Status::invalid_format,
          "The format(" + std::to_string(static_cast<int>(mine().format)) + ") does not support.");
    log_.info(concat({"[", request_.op, "] Before shape convert, Left ", format, shape_text(mine().shape),
                      " <======> Right ", request_.origin.format, shape_text(golden().shape)}));
    OPDUMP_TRY(MatchedPair pair, converted(golden_format));
    if (mine().format != Format::nd ||
        (!is_scalar_shape(mine().shape) && pair.mine.count() != pair.golden.count())) {
      OPDUMP_TRY(pair.mine, slice(pair.mine, pair.golden.shape, request_.op, log_));
    }
    pair.shape = pair.mine.shape;
    if (pair.mine.count() == pair.golden.count()) return pair;
    return cannot_compare(request_.op, "(" + std::to_string(pair.mine.count()) + ")",
                          "(" + std::to_string(pair.golden.count()) + ")", log_);
  }

 private:
  const DumpedTensor& mine() const { return request_.mine; }
  const DumpedTensor& golden() const { return request_.golden; }

  Outcome<Format> find_golden_format() {
    if (request_.origin.format.empty()) return mine().format;
    if (request_.origin.format == "NHWC" || request_.origin.format == "NCHW")
      correct_format(request_.origin, golden().shape);
    if (const auto format = model::find_format(request_.origin.format)) return *format;
    Failure failure{Status::invalid_format,
                    "The format \" " + request_.origin.format + " \" is not supported."};
    log_.warn(failure.message);
    return failure;
  }

  Outcome<MatchedPair> unchanged() {
    log_.info("[" + request_.op + "] Left " + shape_text(mine().shape) + " <======> Right " +
              shape_text(golden().shape));
    if (!(mine().shape == golden().shape))
      return cannot_compare(request_.op, shape_text(mine().shape), shape_text(golden().shape), log_);
    return MatchedPair{mine().data, golden().data, mine().shape};
  }

  // The format that mine and the golden one become.
  std::pair<Format, Format> targets(Format golden_format) const {
    if (!request_.is_detail || mine().format == Format::fractal_z) return {golden_format, golden_format};
    const Format both = has_depth(mine().format) ? Format::ncdhw : Format::nchw;
    return {both, both};
  }

  Outcome<MatchedPair> converted(Format golden_format) {
    const auto [my_target, golden_target] = targets(golden_format);
    const bool needs_no_target = mine().format != Format::fractal_nz && mine().format != Format::ndc1hwc0;
    if ((my_target == Format::nd && needs_no_target) || is_scalar_shape(mine().shape))
      return MatchedPair{mine().data, golden().data, {}};
    MatchedPair pair;
    OPDUMP_TRY(pair.mine, convert({mine().format, my_target, mine().shape, to_shape(request_.origin.shape),
                                   mine().groups},
                                  mine().data, request_.plugin, log_));
    OPDUMP_TRY(pair.golden,
               convert({golden_format, golden_target, golden().shape, golden().shape, mine().groups},
                       golden().data, request_.plugin, log_));
    log_.info(concat({"[", request_.op, "] After shape convert, Left ", model::format_name(my_target),
                      tuple_text(pair.mine.shape), " <======> Right ", model::format_name(golden_target),
                      tuple_text(pair.golden.shape)}));
    return pair;
  }

  MatchRequest request_;
  Log& log_;
};

}  // namespace

Outcome<MatchedPair> match_layouts(MatchRequest request, Log& log) {
  return Matcher(std::move(request), log).match();
}

TensorData restore_original(const DumpedTensor& tensor, const LayoutPlugin& plugin, Log& log) {
  const Shape& wanted = tensor.original_shape;
  Format from = tensor.format;
  if (is_four_dimensional(from) && tensor.shape.rank() != 4) from = Format::nd;
  Format to = from;
  if (wanted.rank() == 4) to = Format::nchw;
  if (wanted.rank() == 3 || wanted.rank() == 2) to = Format::nd;
  const auto say = [&](const Failure& failure) {
    log.error(std::to_string(static_cast<int>(failure.status)));
  };
  if (from == to) {
    auto same = reshaped(tensor.data, tensor.shape, log);
    if (same) return std::move(*same);
    say(same.error());
    return tensor.data;
  }
  auto restored = change_layout({from, to, tensor.shape, wanted, tensor.groups}, tensor.data, plugin, log);
  if (!restored) {
    say(restored.error());
    return tensor.data;
  }
  if (wanted.rank() == 0) return std::move(*restored);
  auto sliced = slice(*restored, wanted, "", log);
  if (sliced) return std::move(*sliced);
  say(sliced.error());
  return std::move(*restored);
}

}  // namespace opdump::msaccucmp
