// What goes with what: driver, CUDA, cuDNN, NCCL, Python, frameworks. The rows are matrix.yaml.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envs/matrix/name.hpp"

namespace fastgpu::envs {

/// One branch of NVIDIA's driver for Linux.
struct DriverBranch {
  int branch = 0;           ///< 580
  std::string first;        ///< Its first release for data centres: "580.65.06"
  std::string cuda;         ///< The newest CUDA that it carries by itself: "13.0"
  bool maintained = false;  ///< Still gets fixes, as of the matrix's date.
};

/// One release of CUDA.
struct CudaRelease {
  std::string version;             ///< "12.4"
  std::string least_driver;        ///< That knows all of it: "550.54.14"
  std::string compatible_driver;   ///< That runs programs of its major version; may be the same.
  std::vector<std::string> cudnn;  ///< Major versions that are made for it: "8", "9"
  bool offered = true;             ///< NVIDIA's package repositories still have it.
};

/// One kind of GPU, by its marketing name.
struct GpuModel {
  std::string name;              ///< "L40S"
  std::string architecture;      ///< "Ada"
  std::vector<std::string> ids;  ///< PCI device identities: "26b9"
  bool open_modules = true;      ///< The open kernel modules know it (Turing and later).
  int first_driver = 0;          ///< The first branch that knows it.
  int last_driver = 0;           ///< The last one that does; 0 while there is none.
  int nvswitch_from = 0;         ///< So many in one machine are joined by NVSwitch; 0: never.
};

/// Python, and who still gives it out.
struct PythonRelease {
  std::string version;  ///< "3.6"
  bool uv = true;       ///< There is an archive of it: envs/environments/pythons.yaml.
  bool conda = true;    ///< conda-forge has one.
};

/// One release of a framework on one accelerator: what to install.
struct FrameworkRow {
  Framework framework = Framework::pytorch;
  std::string version;              ///< Complete: "2.5.1"
  Accelerator accelerator{};        ///< Complete: cu12.4
  std::vector<std::string> python;  ///< "3.9", "3.10", ...
  std::string cudnn{};  ///< That it was built with, or the least that it asks for; may be empty.
  std::string nccl{};   ///< Likewise.
  std::vector<std::string> requirements;  ///< For pip or uv: "torch==2.5.1"
  std::vector<std::string> sources{};     ///< Packages that may have to be built from source.
  std::string index{};                    ///< Beside PyPI; empty: PyPI alone.
  bool offered = true;                    ///< That index still has it, as of the matrix's date.
  std::string note{};                     ///< Why it is not offered, or what is good to know.
};

/// An environment that has been known to work as a whole.
struct KnownSet {
  EnvironmentName name;
  std::string source;  ///< Who says so.
};

struct Matrix {
  std::string date;    ///< Of the data: "2026-11-22"
  std::string source;  ///< Where they come from.
  std::vector<DriverBranch> drivers;
  std::vector<CudaRelease> cudas;
  std::vector<GpuModel> gpus;
  std::vector<PythonRelease> pythons;
  std::vector<FrameworkRow> frameworks;  ///< Newest last in each framework.
  std::vector<KnownSet> sets;
};

/// The matrix that is part of this program.
Matrix builtin_matrix();

/// As matrix.yaml is written; `source` names it in errors. Throws ErrorKind::usage with the place.
Matrix parse_matrix(const std::string& text, const std::string& source);

/// What a name comes to.
struct Combination {
  EnvironmentName name;
  std::vector<FrameworkRow> rows;  ///< One for each framework of the name, in its order.
  std::optional<CudaRelease> cuda{};
  std::optional<PythonRelease> python{};
  std::optional<EnvironmentName> nearest{};  ///< That is offered, where this one is not.

  bool offered() const noexcept;  ///< Every row is.
  /// A sentence for each framework that no index offers any more.
  std::vector<std::string> losses() const;
  /// Those, which name is near, and what else has to be known; empty where all can be had.
  std::vector<std::string> warnings() const;
};

/// The rows that a name stands for: of several that fit the newest. Throws ErrorKind::usage where
/// there are none, saying which part does not fit and naming the nearest names that do.
Combination resolve(const Matrix& matrix, const EnvironmentName& name);

/// What the frameworks of a name are made for, beside the accelerator that it names: those for
/// which it resolves, cpu first, then by platform and version.
std::vector<Accelerator> possible_accelerators(const Matrix& matrix, const EnvironmentName& name);

/// Names of what is offered, the nearest to `name` first, at most `most`.
std::vector<EnvironmentName> nearest_possible(const Matrix& matrix, const EnvironmentName& name,
                                              std::size_t most);

/// The release of CUDA with that version, or nothing.
std::optional<CudaRelease> find_cuda(const Matrix& matrix, std::string_view version);

/// The branch that a driver's version ("580.95.05") or a branch ("580") belongs to, or nothing.
std::optional<DriverBranch> find_driver(const Matrix& matrix, std::string_view version);

enum class Carries : std::uint8_t {
  no,
  minor,  ///< Programs of that CUDA run, what is new in it does not ("minor version
          ///< compatibility").
  yes,
};

/// Whether a driver of that version or branch can carry that CUDA.
Carries carries(const Matrix& matrix, std::string_view driver, const CudaRelease& cuda);

/// The model with that name ("L40S", "NVIDIA L40S", "NVIDIA H100 80GB HBM3"), or nothing.
std::optional<GpuModel> find_gpu(const Matrix& matrix, std::string_view name);
/// The model with that PCI device identity ("26b9"), or nothing.
std::optional<GpuModel> find_gpu_by_id(const Matrix& matrix, std::string_view id);

}  // namespace fastgpu::envs
