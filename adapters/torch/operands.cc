#include "operands.h"

#include <ATen/ATen.h>

#include <utility>

namespace opdump::torch_adapter {
namespace {

opdump_dtype to_dtype(at::ScalarType type) {
  switch (type) {
    case at::kBool:
      return OPDUMP_BOOL;
    case at::kChar:
    case at::kQInt8:
      return OPDUMP_INT8;  // the stored integers, not what they stand for
    case at::kShort:
      return OPDUMP_INT16;
    case at::kInt:
    case at::kQInt32:
      return OPDUMP_INT32;
    case at::kLong:
      return OPDUMP_INT64;
    case at::kByte:
    case at::kQUInt8:
      return OPDUMP_UINT8;
    case at::kHalf:
      return OPDUMP_FLOAT16;
    case at::kBFloat16:
      return OPDUMP_BFLOAT16;
    case at::kFloat:
      return OPDUMP_FLOAT32;
    case at::kDouble:
      return OPDUMP_FLOAT64;
    case at::kComplexFloat:
      return OPDUMP_COMPLEX64;
    case at::kComplexDouble:
      return OPDUMP_COMPLEX128;
    default:
      return OPDUMP_DTYPE_UNDEFINED;
  }
}

// Why the memory behind `tensor` is not its value, or null if it is.
const char* find_obstacle(const at::Tensor& tensor) {
  if (tensor.is_nested()) return "nested";  // which has neither sizes nor strides
  if (tensor.is_sparse()) return "sparse";
  if (tensor.layout() != at::kStrided) return "not a strided tensor";
  if (tensor.is_meta()) return "meta tensor";
  if (!find_storage(tensor)) return "no storage";
  if (tensor.is_conj() && !tensor.is_cpu()) return "conjugate view";
  if (tensor.is_neg() && !tensor.is_cpu()) return "negated view";
  if (to_dtype(tensor.scalar_type()) == OPDUMP_DTYPE_UNDEFINED) return "dtype is not known";
  return nullptr;
}

}  // namespace

c10::StorageImpl* find_storage(const at::Tensor& tensor) noexcept {
  try {
    const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    return tensor.defined() && impl->has_storage() ? impl->storage().unsafeGetStorageImpl() : nullptr;
  } catch (...) {
    return nullptr;
  }
}

void Operands::add(const c10::IValue& value, const char* undumped) {
  if (value.isTensor()) {
    add_tensor(value.toTensor(), undumped);
  } else if (value.isTensorList() || (value.isList() && value.toListRef().size() > 0 &&
                                      (value.toListRef()[0].isTensor() || value.toListRef()[0].isNone() ||
                                       value.toListRef()[0].isList()))) {
    for (const c10::IValue& item : value.toListRef()) add(item, undumped);
  } else if (value.isNone()) {
    ++next_index_;
  }
}

// The value of a conjugated or negated view, whose memory has that of what it is a view of.
const at::Tensor& Operands::compute(const at::Tensor& view) {
  const StagingGuard guard;
  return computed_.emplace_back(view.resolve_conj().resolve_neg());
}

// Sends a tensor of another device, or its statistics, to the host; returns the copy if there is one. If
// nothing can be sent, the reason is in `operand`.
const at::Tensor* Operands::to_host(const at::Tensor& tensor, opdump_tensor& operand) {
  note_device(tensor.device());
  if (is_captured(tensor.device())) {
    saw_capture_ = true;
    operand.undumped = "captured into a graph of the device, not executed";
    return nullptr;
  }
  if (device_statistics() != 0 && tensor.is_complex()) return nullptr;  // which has none
  if (StagedStatisticsPointer statistics = stage_statistics(tensor)) {
    operand.statistics = statistics->numbers;
    copies_.push_back(std::move(statistics));
  } else {
    copies_.push_back(stage(tensor));
  }
  Staged* staged = copies_.back().get();
  operand.owner = staged;
  operand.is_late = staged->arrival ? 1 : 0;
  return operand.statistics ? nullptr : &staged->host;
}

void Operands::add_tensor(const at::Tensor& tensor, const char* undumped) {
  const std::uint32_t index = next_index_++;
  if (!tensor.defined()) return;
  opdump_tensor operand{};
  operand.size = sizeof operand;
  operand.index = index;
  try {
    describe(tensor, undumped, operand);
  } catch (const std::exception&) {  // there are kinds of tensors that answer no question
    operand = {};
    operand.size = sizeof operand;
    operand.index = index;
    operand.undumped = "unknown kind of tensor";
  }
  tensors_.push_back(operand);
  implementations_.push_back(tensor.unsafeGetTensorImpl());
}

void Operands::describe(const at::Tensor& tensor, const char* undumped, opdump_tensor& operand) {
  if (tensor.unsafeGetTensorImpl()
          ->has_symbolic_sizes_strides()) {  // a question would fix the symbols to numbers
    operand.undumped = "symbolic shape";
    return;
  }
  const char* obstacle = find_obstacle(tensor);
  operand.undumped = undumped ? undumped : obstacle;
  operand.dtype = to_dtype(tensor.scalar_type());
  if (tensor.is_nested()) return;
  const bool is_sent = !operand.undumped && !tensor.device().is_cpu() && tensor.numel() > 0;
  const at::Tensor* const copy = is_sent ? to_host(tensor, operand) : nullptr;
  const bool is_computed = !operand.undumped && (tensor.is_conj() || tensor.is_neg());
  const at::Tensor* const host = copy ? copy : is_computed ? &compute(tensor) : &tensor;
  if (tensor.layout() == at::kStrided || tensor.is_sparse()) {
    operand.rank = static_cast<std::uint32_t>(host->dim());
    operand.shape = host->sizes().data();
  }
  c10::StorageImpl* storage = tensor.layout() == at::kStrided ? find_storage(tensor) : nullptr;
  if (!storage) return;
  operand.strides = host->strides().data();
  Block* owner = add_content(tensor, storage, operand);
  const bool is_parameter = undumped == kView && !obstacle && operand.name && tensor.device().is_cpu();
  // A copy, or what was computed, may lie in another way than the memory that the number is of. What is
  // captured is written to by replays, which nobody sees.
  const bool is_alike = !is_computed && host->strides() == tensor.strides();
  if (!is_alike ||
      (!tensor.device().is_cpu() && (is_sent ? operand.undumped != nullptr : is_captured(tensor.device()))))
    operand.version = 0;
  if (operand.undumped && !is_parameter) return;
  if (!operand.statistics) operand.data = host->numel() > 0 ? host->data_ptr() : nullptr;
  if (is_sent || is_computed)
    operand.content = 0;
  else
    operand.owner = owner;
}

// The owner of its memory, or null.
Block* Operands::add_content(const at::Tensor& tensor, c10::StorageImpl* storage, opdump_tensor& operand) {
  const Contents::Content content = contents_.find(storage);
  operand.content = content.number;
  operand.version = content.version;
  operand.name = content.name;
  operand.role = content.is_weight                                   ? OPDUMP_WEIGHT
                 : tensor.unsafeGetTensorImpl()->is_wrapped_number() ? OPDUMP_CONSTANT
                                                                     : OPDUMP_INPUT;
  operand.block = content.block;
  operand.block_offset = tensor.storage_offset() * static_cast<std::int64_t>(tensor.itemsize());
  if (content.uninitialised && !operand.undumped) operand.undumped = "uninitialised";
  return content.owner;
}

}  // namespace opdump::torch_adapter
