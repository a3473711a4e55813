"""Tasks of Ray, as its documentation writes them: `ray.get([function.remote(…) for …])`."""

import os
import time

import ray

import kernel
import peer


def process():
    # Long enough that no worker gets two of these.
    time.sleep(0.5)
    return os.getpid()


class Ray:
    def __init__(self, workers):
        ray.init(
            num_cpus=workers,
            include_dashboard=False,
            log_to_driver=False,
            _temp_dir=peer.folder(),
        )
        self.count = workers
        self.functions = {
            "spin": ray.remote(kernel.spin),
            "queens": ray.remote(kernel.queens),
            "uts": ray.remote(kernel.uts),
        }
        self.process = ray.remote(process)

    def map(self, name, arguments):
        function = self.functions[name]
        return ray.get([function.remote(*each) for each in arguments])

    def workers(self):
        return ray.get([self.process.remote() for _ in range(self.count)])

    def stop(self):
        ray.shutdown()


if __name__ == "__main__":
    peer.serve(Ray)
