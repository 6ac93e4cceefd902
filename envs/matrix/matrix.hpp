// The table of compatible versions: driver, CUDA, cuDNN, NCCL, Python, frameworks. The rows are
// matrix.yaml.
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
  std::string first;        ///< The first release for data centres: "580.65.06"
  std::string cuda;         ///< The newest CUDA that it supports directly: "13.0"
  bool maintained = false;  ///< Gets fixes, as of the matrix's date.
};

/// One release of CUDA.
struct CudaRelease {
  std::string version;       ///< "12.4"
  std::string least_driver;  ///< The driver with full support: "550.54.14"
  /// The driver for programs of its major version; may be the same.
  std::string compatible_driver;
  std::vector<std::string> cudnn;  ///< The major versions made for it: "8", "9"
  bool offered = true;             ///< Available in NVIDIA's package repositories.
};

/// One kind of GPU, by its marketing name.
struct GpuModel {
  std::string name;              ///< "L40S"
  std::string architecture;      ///< "Ada"
  std::vector<std::string> ids;  ///< PCI device identities: "26b9"
  bool open_modules = true;      ///< Supported by the open kernel modules (Turing and later).
  int first_driver = 0;          ///< The first branch that supports it.
  int last_driver = 0;           ///< The last branch that supports it; 0 while it is supported.
  int nvswitch_from = 0;         ///< The least number in one machine joined by NVSwitch; 0: never.
};

/// A release of Python, and its sources.
struct PythonRelease {
  std::string version;  ///< "3.6"
  bool uv = true;       ///< Has an archive: envs/environments/pythons.yaml.
  bool conda = true;    ///< Available at conda-forge.
};

/// One release of a framework on one accelerator: the packages to install.
struct FrameworkRow {
  Framework framework = Framework::pytorch;
  std::string version;              ///< Complete: "2.5.1"
  Accelerator accelerator{};        ///< Complete: cu12.4
  std::vector<std::string> python;  ///< "3.9", "3.10", ...
  std::string cudnn{};  ///< The cuDNN of its build, or the least required one; may be empty.
  std::string nccl{};   ///< The NCCL of its build, or the least required one; may be empty.
  std::vector<std::string> requirements;  ///< The requirements for pip or uv: "torch==2.5.1"
  std::vector<std::string> sources{};     ///< Packages that may have to be built from source.
  std::string index{};                    ///< An index beside PyPI; empty: PyPI alone.
  bool offered = true;                    ///< Available at that index, as of the matrix's date.
  std::string note{};                     ///< The reason why it is not offered, or a useful remark.
};

/// An environment that is known to work as a whole.
struct KnownSet {
  EnvironmentName name;
  std::string source;  ///< The source of that knowledge.
};

struct Matrix {
  std::string date;    ///< The date of the data: "2026-11-22"
  std::string source;  ///< The origin of the data.
  std::vector<DriverBranch> drivers;
  std::vector<CudaRelease> cudas;
  std::vector<GpuModel> gpus;
  std::vector<PythonRelease> pythons;
  std::vector<FrameworkRow> frameworks;  ///< The newest last in each framework.
  std::vector<KnownSet> sets;
};

/// Returns the matrix that is part of this program.
Matrix builtin_matrix();

/// Parses matrix.yaml's format; `source` names it in errors. Throws ErrorKind::usage with the
/// place.
Matrix parse_matrix(const std::string& text, const std::string& source);

/// The result of a name.
struct Combination {
  EnvironmentName name;
  std::vector<FrameworkRow> rows;  ///< One for each framework of the name, in its order.
  std::optional<CudaRelease> cuda{};
  std::optional<PythonRelease> python{};
  /// The nearest offered name, if this one is not offered.
  std::optional<EnvironmentName> nearest{};

  bool offered() const noexcept;  ///< Returns whether every row is offered.
  /// Returns a sentence for each framework that no index offers any more.
  std::vector<std::string> losses() const;
  /// Returns the losses, the nearest name, and other remarks; empty if everything is available.
  std::vector<std::string> warnings() const;
};

/// Returns the rows of a name: the newest of several that fit. Throws ErrorKind::usage if there are
/// none, naming the part that does not fit and the nearest names that do.
Combination resolve(const Matrix& matrix, const EnvironmentName& name);

/// Returns the accelerators that the frameworks of a name are made for, whatever accelerator it
/// names. These are the ones for which it resolves, cpu first, then by platform and version.
std::vector<Accelerator> possible_accelerators(const Matrix& matrix, const EnvironmentName& name);

/// Returns the offered names, the nearest to `name` first, at most `most`.
std::vector<EnvironmentName> nearest_possible(const Matrix& matrix, const EnvironmentName& name,
                                              std::size_t most);

/// Returns the release of CUDA with that version; absent if unknown.
std::optional<CudaRelease> find_cuda(const Matrix& matrix, std::string_view version);

/// Returns the branch of a driver's version ("580.95.05") or of a branch ("580"); absent if
/// unknown.
std::optional<DriverBranch> find_driver(const Matrix& matrix, std::string_view version);

enum class Carries : std::uint8_t {
  no,
  minor,  ///< Programs of that CUDA run, without its new features ("minor version compatibility").
  yes,
};

/// Returns how far a driver of that version or branch supports that CUDA.
Carries carries(const Matrix& matrix, std::string_view driver, const CudaRelease& cuda);

/// Returns the model with that name ("L40S", "NVIDIA L40S", "NVIDIA H100 80GB HBM3"); absent if
/// unknown.
std::optional<GpuModel> find_gpu(const Matrix& matrix, std::string_view name);
/// Returns the model with that PCI device identity ("26b9"); absent if unknown.
std::optional<GpuModel> find_gpu_by_id(const Matrix& matrix, std::string_view id);

}  // namespace fastgpu::envs
