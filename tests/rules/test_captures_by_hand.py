"""Captures that a call begins: on which stream they are, and which work is part of them."""

from __future__ import annotations

from tests.programs import check_marked_rules


def test_a_main_function_that_a_script_calls_runs_on_the_default_stream() -> None:
    check_marked_rules(
        """
        import torch


        def main():
            x = torch.zeros(4, device="cuda")
            graph = torch.cuda.CUDAGraph()
            graph.capture_begin()  # expect: CG509
            y = x * 2
            graph.capture_end()
            graph.replay()
            return y


        if __name__ == "__main__":
            main()
        """
    )


def test_a_function_that_others_call_too_may_run_on_another() -> None:
    check_marked_rules(
        """
        import torch


        def record(x):
            graph = torch.cuda.CUDAGraph()
            graph.capture_begin()  # ok: CG509
            y = x * 2
            graph.capture_end()
            return graph, y


        def main():
            x = torch.zeros(4, device="cuda")
            with torch.cuda.stream(torch.cuda.Stream()):
                return x, record(x)


        main()
        """
    )


def test_work_goes_to_the_current_stream_and_not_to_the_one_that_captures() -> None:
    check_marked_rules(
        """
        import cupy as cp


        def record(n):
            x = cp.zeros(n, dtype=cp.float32)
            stream = cp.cuda.Stream(non_blocking=True)
            stream.begin_capture()
            x *= 2  # expect: CG501
            return stream.end_capture()


        def record_there(n):
            x = cp.zeros(n, dtype=cp.float32)
            stream = cp.cuda.Stream(non_blocking=True)
            with stream:
                stream.begin_capture()
                x *= 2  # ok: CG501
                return stream.end_capture()


        def record_with_kernels(n, kernel: cp.RawKernel):
            x = cp.zeros(n, dtype=cp.float32)
            stream = cp.cuda.Stream(non_blocking=True)
            scale = cp.RawKernel("code", "scale")
            stream.begin_capture()
            scale((1,), (n,), (x, n), stream=stream)  # ok: CG501
            return stream.end_capture()
        """
    )


def test_a_stream_that_others_made_may_be_the_current_one() -> None:
    check_marked_rules(
        """
        import cupy as cp


        class Recorder:
            def __init__(self, n):
                self.x = cp.zeros(n, dtype=cp.float32)
                self.stream = cp.cuda.Stream(non_blocking=True)

            def record(self):
                self.stream.begin_capture()
                self.x *= 2  # ok: CG501
                return self.stream.end_capture()
        """
    )


def test_torch_works_on_its_own_current_stream() -> None:
    check_marked_rules(
        """
        import torch
        from cuda.bindings import runtime

        MODE = runtime.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal


        def record(x: torch.Tensor):
            _, stream = runtime.cudaStreamCreate()
            runtime.cudaStreamBeginCapture(stream, MODE)
            x.mul_(2)  # expect: CG501
            return runtime.cudaStreamEndCapture(stream)


        def record_there(x: torch.Tensor):
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                runtime.cudaStreamBeginCapture(stream.cuda_stream, MODE)
                x.mul_(2)  # ok: CG501
                return runtime.cudaStreamEndCapture(stream.cuda_stream)


        def record_copies(x: int, y: int, n: int):
            _, stream = runtime.cudaStreamCreate()
            runtime.cudaStreamBeginCapture(stream, MODE)
            runtime.cudaMemcpyAsync(x, y, n, runtime.cudaMemcpyKind.cudaMemcpyDeviceToDevice, stream)  # ok: CG501
            return runtime.cudaStreamEndCapture(stream)


        def record_others(x: torch.Tensor, engine):
            _, stream = runtime.cudaStreamCreate()
            runtime.cudaStreamBeginCapture(stream, MODE)
            engine.execute(x, stream)  # ok: CG501
            return runtime.cudaStreamEndCapture(stream)
        """
    )
