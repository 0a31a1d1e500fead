-- Records a migration as applied.
insert into dibs.migrations (version, name) values (:version, :name);
