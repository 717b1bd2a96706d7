#include "gears.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <string_view>

#include "base.h"
#include "failure.h"

namespace opdump::acl {
namespace {

constexpr std::size_t kMostChoices = 128;  // as many as CANN's structs have

struct Variable {
  Gears::Kind kind;
  const char* name;
  char between;         // choices
  std::size_t numbers;  // of a choice; 0: any number
};
constexpr Variable kVariables[] = {{Gears::Kind::batch, "OPDUMP_DYNAMIC_BATCH_SIZE", ',', 1},
                                   {Gears::Kind::image, "OPDUMP_DYNAMIC_IMAGE_SIZE", ';', 2},
                                   {Gears::Kind::dims, "OPDUMP_DYNAMIC_DIMS", ';', 0}};

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const std::size_t end = text.find(at);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

// Empty if it is no list of positive numbers.
std::vector<std::int64_t> parse(std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (const std::string_view piece : split(text, ',')) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), number);
    if (error != std::errc() || end != piece.data() + piece.size() || number <= 0) return {};
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

bool Port::is_dynamic() const {
  return !has_shape || std::ranges::any_of(dims, [](std::int64_t dim) { return dim < 0; });
}

aclError Gears::read(const std::vector<Port>& inputs, Gears& gears) {
  gears.inputs_ = &inputs;
  if (!std::ranges::any_of(inputs, &Port::is_dynamic)) return ACL_SUCCESS;
  for (const Variable& variable : kVariables) {
    const char* value = std::getenv(variable.name);
    if (!value || !*value) continue;
    gears.kind_ = variable.kind;
    gears.origin_ = std::string(variable.name) + "=" + value;
    for (const std::string_view piece : split(value, variable.between)) {
      std::vector<std::int64_t> numbers = parse(piece);
      if (numbers.empty() || (variable.numbers > 0 && numbers.size() != variable.numbers) ||
          gears.texts_.size() == kMostChoices)
        return fail(ACL_ERROR_INVALID_PARAM,
                    gears.origin_ + ": expected at most 128 choices of positive numbers, such as " +
                        (variable.between == ',' ? "1,2,8" : "416,416;832,832"));
      gears.texts_.push_back(std::move(numbers));
    }
    return gears.resolve();
  }
  return ACL_SUCCESS;
}

// A value for each open dimension: the batch size for the first of an input, the image size for the last two
// of an image, or all in their order.
aclError Gears::resolve() {
  for (const std::vector<std::int64_t>& text : texts_) {
    std::vector<std::int64_t> values;
    std::size_t next = 0;
    for (const Port& port : *inputs_)
      for (std::size_t axis = 0; axis < port.dims.size(); ++axis) {
        if (port.dims[axis] >= 0) continue;
        std::size_t index = next++;
        bool fits = kind_ == Kind::dims;
        if (kind_ == Kind::batch) fits = axis == 0, index = 0;
        if (kind_ == Kind::image) fits = port.dims.size() == 4 && axis >= 2, index = axis - 2;
        if (!fits || index >= text.size())
          return fail(ACL_ERROR_INVALID_PARAM, origin_ + ": dimension " + std::to_string(axis) +
                                                   " of input " + port.name +
                                                   " is open, and this has no value for it");
        values.push_back(text[index]);
      }
    choices_.push_back(std::move(values));
  }
  return ACL_SUCCESS;
}

bool Gears::has(const std::vector<std::int64_t>& open_dims) const {
  return choices_.empty() || std::ranges::find(choices_, open_dims) != choices_.end();
}

std::vector<std::int64_t> Gears::input_dims(std::size_t choice) const {
  std::vector<std::int64_t> all;
  auto next = choices_[choice].begin();
  for (const Port& port : *inputs_)
    for (const std::int64_t dim : port.dims) all.push_back(dim < 0 ? *next++ : dim);
  return all;
}

std::size_t Gears::largest(const Port& port) const {
  std::size_t most = byte_count(port.type, port.dims.data(), port.dims.size());
  for (std::size_t choice = 0; choice < choices_.size(); ++choice) {
    const std::vector<std::int64_t> all = input_dims(choice);
    std::map<std::string_view, std::int64_t> named;
    std::vector<std::int64_t> dims = port.dims;
    auto first = all.begin();
    for (const Port& input : *inputs_) {
      for (std::size_t axis = 0; axis < input.dims.size(); ++axis)
        if (input.dims[axis] < 0 && !input.dim_names[axis].empty())
          named[input.dim_names[axis]] = first[static_cast<std::ptrdiff_t>(axis)];
      const auto end = first + static_cast<std::ptrdiff_t>(input.dims.size());
      if (&input == &port) dims.assign(first, end);
      first = end;
    }
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      if (dims[axis] >= 0) continue;
      if (const auto found = named.find(port.dim_names[axis]); found != named.end())
        dims[axis] = found->second;
      else if (kind_ == Kind::batch && axis == 0)
        dims[axis] = texts_[choice][0];
    }
    most = std::max(most, byte_count(port.type, dims.data(), dims.size()));
  }
  return most;
}

}  // namespace opdump::acl
