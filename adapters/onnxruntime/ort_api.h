// The part of ONNX Runtime's C interface that we call: a table of functions that grows only at its end, in
// which each function keeps its place and signature from release to release. We ask for the table of
// release 1.17 and pick by place, so no header of ONNX Runtime is needed to build, and any later library will
// do.
//
// Functions that return Status* return null if all went well.
#pragma once

#include <cstddef>
#include <cstdint>

namespace opdump::onnx::ort {

struct Status;
struct Env;
struct SessionOptions;
struct RunOptions;
struct Session;
struct Value;
struct MemoryInfo;
struct TypeInfo;
struct TensorInfo;  // dtype and shape of a tensor
struct Allocator;

inline constexpr std::uint32_t kApiVersion = 17;

enum LoggingLevel : int { kVerbose = 0, kInfo = 1, kWarning = 2, kError = 3, kFatal = 4 };
enum OptimizationLevel : int { kNone = 0, kBasic = 1, kExtended = 2, kAll = 99 };
enum ValueType : int {
  kUnknown = 0,
  kTensor = 1,
  kSequence = 2,
  kMap = 3,
  kOpaque = 4,
  kSparse = 5,
  kOptional = 6
};
enum AllocatorType : int { kDeviceAllocator = 0, kArenaAllocator = 1 };
enum MemoryType : int { kDefaultMemory = 0 };
// Numbers of dtypes are those of ONNX itself; see dtypes.h.
using ElementType = int;

// place in the table, result, name, parameters
#define OPDUMP_ORT_FUNCTIONS(X)                                                                            \
  X(2, const char*, GetErrorMessage, (const Status*))                                                      \
  X(3, Status*, CreateEnv, (LoggingLevel, const char* id, Env**))                                          \
  X(8, Status*, CreateSessionFromArray,                                                                    \
    (const Env*, const void* model, std::size_t bytes, const SessionOptions*, Session**))                  \
  X(9, Status*, Run,                                                                                       \
    (Session*, const RunOptions*, const char* const* input_names, const Value* const* inputs,              \
     std::size_t input_count, const char* const* output_names, std::size_t output_count, Value** outputs)) \
  X(10, Status*, CreateSessionOptions, (SessionOptions**))                                                 \
  X(11, Status*, SetOptimizedModelFilePath, (SessionOptions*, const char* path))                           \
  X(19, Status*, DisableCpuMemArena, (SessionOptions*))                                                    \
  X(23, Status*, SetSessionGraphOptimizationLevel, (SessionOptions*, OptimizationLevel))                   \
  X(24, Status*, SetIntraOpNumThreads, (SessionOptions*, int))                                             \
  X(30, Status*, SessionGetInputCount, (const Session*, std::size_t*))                                     \
  X(31, Status*, SessionGetOutputCount, (const Session*, std::size_t*))                                    \
  X(33, Status*, SessionGetInputTypeInfo, (const Session*, std::size_t index, TypeInfo**))                 \
  X(34, Status*, SessionGetOutputTypeInfo, (const Session*, std::size_t index, TypeInfo**))                \
  X(36, Status*, SessionGetInputName, (const Session*, std::size_t index, Allocator*, char**))             \
  X(37, Status*, SessionGetOutputName, (const Session*, std::size_t index, Allocator*, char**))            \
  X(49, Status*, CreateTensorWithDataAsOrtValue,                                                           \
    (const MemoryInfo*, void* data, std::size_t bytes, const std::int64_t* shape, std::size_t rank,        \
     ElementType, Value**))                                                                                \
  X(51, Status*, GetTensorMutableData, (Value*, void**))                                                   \
  X(55, Status*, CastTypeInfoToTensorInfo, (const TypeInfo*, const TensorInfo**))                          \
  X(60, Status*, GetTensorElementType, (const TensorInfo*, ElementType*))                                  \
  X(61, Status*, GetDimensionsCount, (const TensorInfo*, std::size_t*))                                    \
  X(62, Status*, GetDimensions, (const TensorInfo*, std::int64_t* dims, std::size_t count))                \
  X(63, Status*, GetSymbolicDimensions, (const TensorInfo*, const char** names, std::size_t count))        \
  X(65, Status*, GetTensorTypeAndShape, (const Value*, TensorInfo**))                                      \
  X(67, Status*, GetValueType, (const Value*, ValueType*))                                                 \
  X(69, Status*, CreateCpuMemoryInfo, (AllocatorType, MemoryType, MemoryInfo**))                           \
  X(76, Status*, AllocatorFree, (Allocator*, void*))                                                       \
  X(78, Status*, GetAllocatorWithDefaultOptions, (Allocator**))                                            \
  X(92, void, ReleaseEnv, (Env*))                                                                          \
  X(93, void, ReleaseStatus, (Status*))                                                                    \
  X(94, void, ReleaseMemoryInfo, (MemoryInfo*))                                                            \
  X(95, void, ReleaseSession, (Session*))                                                                  \
  X(96, void, ReleaseValue, (Value*))                                                                      \
  X(98, void, ReleaseTypeInfo, (TypeInfo*))                                                                \
  X(99, void, ReleaseTensorTypeAndShapeInfo, (TensorInfo*))                                                \
  X(100, void, ReleaseSessionOptions, (SessionOptions*))                                                   \
  X(130, Status*, AddSessionConfigEntry, (SessionOptions*, const char* key, const char* value))            \
  X(192, Status*, HasValue, (const Value*, int*))                                                          \
  X(210, Status*, AddExternalInitializers,                                                                 \
    (SessionOptions*, const char* const* names, const Value* const* values, std::size_t count))

struct Functions {
#define OPDUMP_ORT_MEMBER(place, result, name, parameters) result(*name) parameters = nullptr;
  OPDUMP_ORT_FUNCTIONS(OPDUMP_ORT_MEMBER)
#undef OPDUMP_ORT_MEMBER
};

// What the library's one exported function, OrtGetApiBase, returns.
struct Base {
  const void* const* (*GetApi)(std::uint32_t version);  // null if the library is older than `version`
  const char* (*GetVersionString)();
};

}  // namespace opdump::onnx::ort
