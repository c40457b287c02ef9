"""Names the physical devices that a store's measurements were taken on."""

from sqlalchemy import select

from autotune_lab.store.schema import DeviceRow
from autotune_lab.store.store import Store


def uuids(store: Store) -> dict[str, tuple[str, ...]]:
    """Return the UUIDs of each device model that has some: model id -> UUIDs, sorted."""
    chosen = select(DeviceRow.model_id, DeviceRow.uuid).order_by(DeviceRow.uuid)
    found: dict[str, tuple[str, ...]] = {}
    with store.reading() as connection:
        for model_id, uuid in connection.execute(chosen):
            found[model_id] = (*found.get(model_id, ()), uuid)
    return found
