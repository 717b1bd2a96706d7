/* opdump_h5.h - the C interface to HDF5 files of datasets: one file, written dataset by dataset or read as a
 * list. For engines that record into such files (PyTorch's dumper); independent of the sessions of opdump.h.
 *
 * The rules of opdump.h apply: pointers are borrowed for the call unless the comment says otherwise, `size`
 * is sizeof the struct, failures are opdump_status with a text in opdump_last_error(). Only one thread at a
 * time may use a file.
 */
#ifndef OPDUMP_OPDUMP_H5_H
#define OPDUMP_OPDUMP_H5_H

#include "opdump/opdump.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opdump_h5 opdump_h5;

/* The values of a dataset's attribute DataType: the numbers of PyTorch's dumper, and from 14 on those of ONNX
 * for types that the dumper lacks. */
typedef enum opdump_h5_data_type {
  OPDUMP_H5_FLOAT32 = 1,
  OPDUMP_H5_UINT8 = 2,
  OPDUMP_H5_INT8 = 3,
  OPDUMP_H5_INT16 = 5,
  OPDUMP_H5_INT32 = 6,
  OPDUMP_H5_INT64 = 7,
  OPDUMP_H5_BOOL = 9,
  OPDUMP_H5_FLOAT16 = 10, /* stored as float32 */
  OPDUMP_H5_FLOAT64 = 11,
  OPDUMP_H5_COMPLEX64 = 14,  /* stored as float32, with a last dimension of 2 */
  OPDUMP_H5_COMPLEX128 = 15, /* stored as float64, likewise */
  OPDUMP_H5_BFLOAT16 = 16    /* stored as float32 */
} opdump_h5_data_type;

/* One 32-bit integer, or a list of 64-bit integers. */
typedef struct opdump_h5_attribute {
  const char* name;
  uint32_t is_list;
  uint32_t count; /* 1 if it is not a list */
  const int64_t* values;
} opdump_h5_attribute;

/* A dataset. */
typedef struct opdump_h5_dataset {
  uint32_t size;  /* sizeof(opdump_h5_dataset) */
  uint32_t dtype; /* opdump_dtype: integers, float32, float64. OPDUMP_DTYPE_UNDEFINED: when writing, a group;
                     when reading, elements that are not numbers or are outside the file */
  const char* path; /* "/add_Tensor/1/input/self" */
  uint32_t rank;    /* 0 for a scalar */
  uint32_t attribute_count;
  const int64_t* shape; /* rank elements */
  const void* data;     /* row-major; NULL: a dataset without data */
  const opdump_h5_attribute*
      attributes; /* in the order of their creation; when reading, only integer attributes */
} opdump_h5_dataset;

/* Creates or empties the file for writing. Release *file with opdump_h5_close. Until then the file states
 * that it is being recorded (attributes of its root, docs/formats/h5.md), also after the process was killed.
 * */
OPDUMP_API opdump_status opdump_h5_create(const char* path, opdump_h5** file);

/* Adds a dataset or a group, and its parent groups. Fails if the dataset exists; a group may exist. */
OPDUMP_API opdump_status opdump_h5_write(opdump_h5* file, const opdump_h5_dataset* dataset);

/* Passes everything written to the operating system. The file is readable up to here whatever happens later.
 */
OPDUMP_API opdump_status opdump_h5_flush(opdump_h5* file);

/* Reports that the file lacks something. Once closed, the file states that it is incomplete, with the first
 * `what`. A failure of the functions above has the same effect. */
OPDUMP_API opdump_status opdump_h5_lose(opdump_h5* file, const char* what);

/* Opens the file for reading and lists its datasets. Release *file with opdump_h5_close. */
OPDUMP_API opdump_status opdump_h5_open(const char* path, opdump_h5** file);

/* Returns dataset number `index`, counted from 0 in alphabetical order of paths. All pointers are valid until
 * the file is closed. OPDUMP_ERROR_ARGUMENT: there are not as many datasets; OPDUMP_ERROR_IO: its elements
 * cannot be read. */
OPDUMP_API opdump_status opdump_h5_at(opdump_h5* file, size_t index, opdump_h5_dataset* dataset);

/* Completes a file opened for writing, and frees it. NULL is allowed. */
OPDUMP_API opdump_status opdump_h5_close(opdump_h5* file);

#ifdef __cplusplus
}
#endif
#endif /* OPDUMP_OPDUMP_H5_H */
